// row: globals.console
export default function () {
  const round = { name: 'x' }; round.self = round;
  console.log(round);
  console.log('after');
}

// row: k6/timers
// args: -i 2
export default function () {
  setTimeout(() => { throw new Error('in a timer'); }, 1);
  setTimeout(() => console.log('after'), 20);
}

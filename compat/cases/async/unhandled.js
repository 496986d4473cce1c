// row: life cycle.async
// args: -i 2
export default function () {
  Promise.reject(new Error('nobody listens'));
  console.log('goes on');
}

// row: life cycle.default
// args: -i 3
export default function () {
  if (__ITER === 0) throw new Error('first');
  if (__ITER === 1) throw new TypeError('second');
  console.log('third');
}

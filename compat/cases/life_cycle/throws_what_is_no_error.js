// row: life cycle.default
// args: -i 3
export default function () {
  if (__ITER === 0) throw 'a text';
  if (__ITER === 1) throw 42;
  throw { code: 7 };
}

// row: language
class Point { #x = 1; static made = 0; y = 2; get x() { return this.#x; } static { Point.made = 5; } }
const { a, ...rest } = { a: 1, b: 2, c: 3 };
function* numbers() { yield 1; yield* [2, 3]; }
export default function () {
  console.log(new Point().x, new Point().y, Point.made, a, JSON.stringify(rest), [...numbers()].join());
  console.log(null ?? 'nullish', undefined?.deep?.er, 2 ** 10, 1_000_000, `${'template'}`, [1, [2, [3]]].flat(Infinity).join());
  let x = null; x ??= 5; x ||= 6; x &&= 7; console.log(x);
  console.log(Object.fromEntries(new Map([['k', 1]])).k, new Set([1, 1, 2]).size, 'abc'.at?.(-1), 'a-b-c'.replaceAll('-', '+'), [3, 1, 2].sort().join());
  label: for (let i = 0; i < 3; i++) { for (;;) { if (i === 1) break label; continue label; } }
  console.log([1, 2, 3].includes(2), 'x'.padStart(3, '0'), Number.isInteger(5), Math.trunc(1.7), [..."žx"].length, Symbol('s').toString());
}

// row: globals.console
class Point { constructor() { this.x = 1; } far() {} get near() { return 5; } }
const deep = { a: { b: { c: { d: { e: { f: { g: { h: { i: { j: { k: { l: 1 } } } } } } } } } } } };
const two = { k: 1 };
const values = {
  deep, shared: { a: two, b: [two, two] }, list: [[1, [2, [3]]], {}, []],
  signed: new Int8Array([1, -2]), floats: new Float64Array([1.5, NaN]), big: new BigInt64Array([1n]), none: new Uint8Array(0), bytes: new Uint8Array([1, 255]).buffer, noBytes: new ArrayBuffer(0), view: new DataView(new ArrayBuffer(2)),
  json: { toJSON() { return { x: 1 }; } }, notCalled: { toJSON() { throw new Error('no'); } }, aValue: { toJSON: 1 }, text: { toString() { return 'mine'; } }, date: new Date(0), dateIn: { d: new Date(0) },
  map: new Map([['a', 1]]), set: new Set([1]), pattern: /a/g, error: new Error('boom'), errorIn: { e: new TypeError('t') }, point: new Point(), functions: { f() {}, g: () => 1 },
  symbol: Symbol('s'), symbolIn: { s: Symbol('q') }, bigint: 10n, bigintIn: { b: 10n }, missing: { u: undefined, n: null }, holes: [undefined, null, , 3], numbers: { a: 1.5, b: 1e21, c: 1e-7, d: NaN, e: Infinity, f: -0 },
  boxed: [new Number(5), new String('q'), new Boolean(true)], quotes: { s: 'a"b\tc', t: "it's", 'odd key': 1, 2: 3 }, promise: Promise.resolve(1), proxy: new Proxy({ a: 1 }, {}), bare: Object.assign(Object.create(null), { a: 1 }), getter: { get a() { return 1; } }, long: Array.from({ length: 120 }, (_, i) => i),
};
export default function () {
  for (const [name, value] of Object.entries(values)) { console.log(name, value); console.log(value); }
  console.log('%s', 'a'); console.log('');
}

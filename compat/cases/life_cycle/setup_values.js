// row: life cycle.setup
// What becomes of values on their way to the VUs.
import http from 'k6/http';
class Point { constructor() { this.x = 1; } get y() { return 2; } toJSON() { return 'json'; } }
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
export function setup() {
  const own = Object.create({ inherited: 1 });
  own.hidden = 1;
  Object.defineProperty(own, 'invisible', { value: 1, enumerable: false });
  return {
    nothing: null, gone: undefined, list: [1, undefined, , null, -0, 1.5, 1e21], text: 'a<b>&\u2028é', date: new Date(0), millis: new Date(1700000000123), map: new Map([['a', 1]]), set: new Set([1, 2]),
    bytes: new Uint8Array([1, 2, 255]), words: new Int16Array([1, -2]), point: new Point(), own, boxed: [new String('s'), new Number(1), new Boolean(false)], re: /x/g, buffer: new ArrayBuffer(2),
    status: http.get(`${__ENV.BASE}/status/204`).status, nested: { a: { b: [{ c: 'd' }] } }, error: new Error('e'),
  };
}
export default function (data) {
  for (const key of Object.keys(data).sort()) console.log(key, sorted(data[key]));
}
export function teardown(data) { console.log(sorted(data.nested)); }

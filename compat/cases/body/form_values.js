// row: request body
import http from 'k6/http';
const url = `${__ENV.BASE}/post`;
export default function () {
  http.post(url, { a: undefined, b: null, c: 1, d: true, e: 1.5, f: '', g: NaN, h: 1e21, i: -0, j: 1e6, k: 12345678, l: 0.1, m: 1e-7, n: -Infinity });
  http.post(url, { a: [1, undefined, null, 'x'], b: [], c: [[1, [2]]], d: { y: 'z', x: 1, n: { a: [null] } }, e: new Date(1500000000120), g: {} });
}

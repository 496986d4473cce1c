// row: params.headers
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const headers = { 'X-One': '1', 'x-lower-case': 'two', 'X-Number': 3, 'User-Agent': 'mine/1.0', Accept: '*/*' };
  console.log(sorted(http.get(`${base}/get`, { headers }).request.headers));
}

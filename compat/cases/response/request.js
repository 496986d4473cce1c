// row: response.request
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const { method, url, headers, body, cookies } = http.post(`${base}/post`, { a: 1 }, { headers: { 'X-A': 'b' }, cookies: { c: 'd' } }).request;
  delete headers['User-Agent'];
  console.log(method, url, body, sorted(headers), sorted(cookies));
}

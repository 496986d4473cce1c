// row: request body
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const res = http.post(`${base}/post`, { b: 'x y', a: 1, list: ['p', 'q'], yes: true, sign: '&=+%', uni: 'ž' });
  console.log(res.json('headers.Content-Type'), sorted(res.json('form')));
}

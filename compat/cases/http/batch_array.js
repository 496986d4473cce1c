// row: k6/http.batch
// order: any
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default function () {
  const list = http.batch([
    `${base}/get?n=1`,
    ['POST', `${base}/post`, 'x', { headers: { 'X-A': 'b' } }],
    ['GET', `${base}/get?n=3`],
    { method: 'PUT', url: `${base}/put`, body: { a: 1 }, params: { tags: { t: 'v' } } },
    { url: `${base}/get?n=5` },
  ]);
  console.log(Array.isArray(list), list.length, list.map((r) => r.json('method')).join());
}

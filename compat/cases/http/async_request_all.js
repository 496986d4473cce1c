// row: k6/http.asyncRequest
// order: any
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default async function () {
  const all = await Promise.all([1, 2, 3].map((n) => http.asyncRequest('GET', `${base}/get?n=${n}`)));
  check(all, { 'in the order of the calls': (a) => a.map((r) => r.json('args.n')).join() === '1,2,3' });
}

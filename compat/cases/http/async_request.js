// row: k6/http.asyncRequest
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default async function () {
  const res = await http.asyncRequest('GET', `${base}/get?n=1`);
  check(res, { first: (r) => r.status === 200 && r.json('args.n') === '1' });
  await http.asyncRequest('POST', `${base}/post`, { a: 'b' }).then((r) => check(r, { second: () => r.json('form.a') === 'b' }));
}

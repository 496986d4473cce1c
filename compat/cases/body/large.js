// row: request body
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default function () {
  const res = http.post(`${base}/post`, 'x'.repeat(300000));
  check(res, { arrived: (r) => r.json('data').length === 300000 });
}

// row: k6/http.get, k6.check
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const res = http.get(`${__ENV.BASE}/get?a=1`);
  check(res, { status: (r) => r.status === 200, argument: (r) => r.json('args.a') === '1', never: () => false });
}

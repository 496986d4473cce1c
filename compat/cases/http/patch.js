// row: k6/http.patch
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default function () {
  const res = http.patch(`${base}/patch`, 'some text', { headers: { 'Content-Type': 'text/plain' } });
  check(res, { status: (r) => r.status === 200, body: (r) => r.json('data') === 'some text', method: (r) => r.json('method') === 'PATCH' });
  http.patch(`${base}/patch`);
}

// row: k6/http.post
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default function () {
  const res = http.post(`${base}/post`, 'some text', { headers: { 'Content-Type': 'text/plain' } });
  check(res, { status: (r) => r.status === 200, body: (r) => r.json('data') === 'some text', method: (r) => r.json('method') === 'POST' });
  http.post(`${base}/post`);
}

// row: request body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.post(`${base}/post`, { a: 1 }, { headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' } });
  http.post(`${base}/post`, { nested: { a: 1 }, none: null });
}

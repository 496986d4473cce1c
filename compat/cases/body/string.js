// row: request body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.post(`${base}/post`, '');
  http.post(`${base}/post`, 'ž plain');
  http.post(`${base}/post`, JSON.stringify({ a: 1 }), { headers: { 'content-type': 'application/json' } });
  http.post(`${base}/post`, null);
  http.post(`${base}/post`, undefined);
}

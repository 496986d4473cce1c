// row: http2
import http from 'k6/http';
export default function () {
  const base = __ENV.TLS_2;
  console.log(http.post(`${base}/post`, { a: 1, b: 'two' }).json('form.b'));
  console.log(http.put(`${base}/put`, JSON.stringify({ a: 1 }), { headers: { 'Content-Type': 'application/json' } }).json('json.a'));
  console.log(http.patch(`${base}/patch`, 'text').json('data'));
  console.log(http.del(`${base}/delete`).status);
  const head = http.head(`${base}/get`);
  console.log(head.status, head.body, head.proto);
  console.log(http.options(`${base}/get`).status);
  console.log(http.post(`${base}/post`, 'x'.repeat(100000)).json('data').length);
}

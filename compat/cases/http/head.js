// row: k6/http.head
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.head(`${base}/bytes/100`);
  console.log(res.status, res.headers['Content-Length'], JSON.stringify(res.body));
}

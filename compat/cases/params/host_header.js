// row: params.headers
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/headers`, { headers: { Host: 'other.example' } });
  console.log(res.json('headers.Host'));
}

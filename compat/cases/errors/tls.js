// row: error codes
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const r = http.get(base.replace('http:', 'https:'));
  console.log(r.status, r.error_code);
}

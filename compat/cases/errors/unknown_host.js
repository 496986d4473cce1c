// row: error codes
import http from 'k6/http';
export default function () {
  const r = http.get('http://no-such-host.invalid/');
  console.log(r.status, r.error_code);
}

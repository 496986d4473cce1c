// row: error codes
// What speaks TLS is asked without it.
import http from 'k6/http';
export default function () {
  const res = http.get(`${__ENV.TLS.replace('https:', 'http:')}/get`);
  console.log(res.status, res.error_code);
}

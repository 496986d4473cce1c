// row: options.tlsAuth, error codes
import http from 'k6/http';
export default function () {
  const res = http.get(`${__ENV.TLS_CLIENT}/get`);
  console.log(res.status, res.error_code);
}

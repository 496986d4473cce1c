// row: response.status, response.status_text, response.headers, response.proto, response.url, response.remote_ip, response.remote_port, response.error
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/response-headers?x-one=1&X-TWO=2&x-one=3`);
  console.log(r.status, r.status_text, r.proto, r.url, r.remote_ip, r.remote_port, JSON.stringify(r.error), r.error_code);
  console.log(JSON.stringify(r.headers));
  console.log(r.tls_version, r.tls_cipher_suite, JSON.stringify(r.ocsp));
}

// row: response.status, response.status_text, response.headers, response.proto, response.url, response.remote_ip, response.remote_port, response.error
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/response-headers?x-one=1&X-TWO=2&x-one=3`);
  console.log(r.status, r.status_text, r.proto, r.url, r.remote_ip, base.endsWith(`:${r.remote_port}`), sorted(r.error), r.error_code);
  console.log(sorted(r.headers));
  console.log(r.tls_version, r.tls_cipher_suite, sorted(r.ocsp));
}

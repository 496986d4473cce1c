// row: response, options.tlsVersion
// A server whose certificate is to be trusted.
import http from 'k6/http';
import { check } from 'k6';
export const options = { iterations: 2 };
export default function () {
  const res = http.post(`${__ENV.TLS}/post`, JSON.stringify({ a: 1 }), { headers: { 'Content-Type': 'application/json' } });
  const again = http.get(`${__ENV.TLS}/get`);
  check(res, { ok: (r) => r.status === 200 });
  console.log(res.status, res.tls_version, res.tls_cipher_suite.startsWith('TLS_'), res.proto, res.error_code, res.timings.tls_handshaking > 0 || __ITER > 0, again.timings.tls_handshaking);
}

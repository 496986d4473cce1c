// row: options.tlsVersion, error codes
import http from 'k6/http';
export const options = { tlsVersion: { min: 'tls1.3' } };
export default function () {
  const res = http.get(`${__ENV.TLS_12}/get`);
  console.log(res.status, res.error_code, http.get(`${__ENV.TLS}/get`).tls_version);
}

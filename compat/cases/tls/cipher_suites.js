// row: options.tlsCipherSuites
import http from 'k6/http';
export const options = { tlsVersion: 'tls1.2', tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'] };
export default function () {
  const res = http.get(`${__ENV.TLS_12}/get`);
  console.log(res.status, res.tls_cipher_suite);
}

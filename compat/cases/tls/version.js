// row: options.tlsVersion
import http from 'k6/http';
export const options = { tlsVersion: http.TLS_1_2 };
export default function () {
  for (const door of ['TLS', 'TLS_12']) {
    const res = http.get(`${__ENV[door]}/get`);
    console.log(door, res.status, res.tls_version, res.error_code);
  }
}

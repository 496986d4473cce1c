// row: http2
import http from 'k6/http';
export default function () {
  http.get(`${__ENV.TLS_2}/get`);
  const late = http.get(`${__ENV.TLS_2}/delay/5`, { timeout: '200ms' });
  console.log(late.status, late.error, late.error_code);
  const next = http.get(`${__ENV.TLS_2}/get`);
  console.log(next.status, next.timings.connecting);
}

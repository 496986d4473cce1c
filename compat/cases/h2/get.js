// row: http2
import http from 'k6/http';
export default function () {
  const one = http.get(`${__ENV.TLS_2}/get?a=b`);
  console.log(one.proto, one.status, one.status_text, one.error, one.error_code, one.json('args.a'));
  console.log(Object.keys(one.headers).sort().join(), one.headers['Content-Type'], one.url.split('/').slice(3).join('/'));
  const two = http.get(`${__ENV.TLS_2}/status/404`);
  console.log(two.proto, two.status, two.status_text, two.error_code);
  console.log(two.timings.connecting, two.timings.tls_handshaking, one.tls_version);
}

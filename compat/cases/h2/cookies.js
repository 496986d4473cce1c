// row: http2
import http from 'k6/http';
export default function () {
  const base = __ENV.TLS_2;
  http.get(`${base}/cookies/set?a=1&b=2`);
  console.log(JSON.stringify(http.get(`${base}/cookies`).json()));
  console.log([].concat(http.get(`${base}/headers`, { cookies: { c: '3' } }).json('headers.Cookie')).sort().join());
}

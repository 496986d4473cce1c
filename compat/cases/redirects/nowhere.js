// row: redirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/redirect-nowhere`);
  console.log(res.status, res.error_code);
  console.log(http.get(`${base}/redirect-to?url=ftp%3A%2F%2Fx%2F`).error_code);
}

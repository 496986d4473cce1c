// row: redirects, options.maxRedirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/redirect-loop`);
  console.log(res.status, res.url, res.error_code, res.error);
}

// row: params.redirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  console.log(http.get(`${base}/redirect/2`, { redirects: 0 }).status);
  console.log(http.get(`${base}/redirect/3`, { redirects: 1 }).status);
  const res = http.get(`${base}/redirect/2`, { redirects: 5 });
  console.log(res.status, res.url);
}

// row: cookies, redirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/cookies/set?k=v`);
  console.log(res.url, JSON.stringify(res.json('cookies')), JSON.stringify(res.cookies));
}

// row: cookies
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.get(`${base}/cookies/set?k=v&m=n`);
  http.get(`${base}/cookies/delete?k`);
  http.get(`${base}/cookies`);
}

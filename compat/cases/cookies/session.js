// row: k6/http.cookieJar, cookies
// args: -i 2
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  console.log(sorted(http.get(`${base}/cookies`).json('cookies')));
  console.log(sorted(http.get(`${base}/cookies/set?k=v`).json('cookies')));
  console.log(sorted(http.cookieJar().cookiesForURL(`${base}/`)));
}

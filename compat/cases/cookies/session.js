// row: k6/http.cookieJar, cookies
// args: -i 2
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  console.log(JSON.stringify(http.get(`${base}/cookies`).json('cookies')));
  console.log(JSON.stringify(http.get(`${base}/cookies/set?k=v`).json('cookies')));
  console.log(JSON.stringify(http.cookieJar().cookiesForURL(`${base}/`)));
}

// row: params.jar
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const jar = new http.CookieJar();
  jar.set(base, 'mine', '1');
  console.log(sorted(http.get(`${base}/cookies`, { jar }).json('cookies')));
  http.get(`${base}/cookies/set?late=2`, { jar });
  console.log(sorted(jar.cookiesForURL(`${base}/`)));
  console.log(sorted(http.get(`${base}/cookies`).json('cookies')));
  console.log(sorted(http.get(`${base}/cookies`, { jar: null }).json('cookies')));
}

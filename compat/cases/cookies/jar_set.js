// row: CookieJar.set, CookieJar.cookiesForURL
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const jar = http.cookieJar();
  jar.set(`${base}/a`, 'deep', '1', { path: '/a' });
  jar.set(base, 'wide', '2');
  jar.set(base, 'old', '3', { expires: 'Mon, 02 Jan 2006 15:04:05 MST' });
  jar.set(base, 'secret', '4', { secure: true });
  jar.set(base, 'quick', '5', { max_age: 3600, http_only: true });
  jar.set('http://elsewhere.example', 'far', '6');
  console.log(sorted(http.get(`${base}/cookies`).json('cookies')));
  console.log(Object.keys(jar.cookiesForURL(`${base}/a/b`)).sort().join());
  http.get(`${base}/a/b`);
}

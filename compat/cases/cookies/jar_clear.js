// row: CookieJar.clear, CookieJar.delete
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const jar = http.cookieJar();
  jar.set(base, 'a', '1');
  jar.set(base, 'b', '2');
  jar.delete(base, 'a');
  http.get(`${base}/cookies`);
  jar.clear(base);
  http.get(`${base}/cookies`);
}

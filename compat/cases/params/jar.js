// row: params.jar
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const jar = new http.CookieJar();
  jar.set(base, 'mine', '1');
  console.log(JSON.stringify(http.get(`${base}/cookies`, { jar }).json('cookies')));
  http.get(`${base}/cookies/set?late=2`, { jar });
  console.log(JSON.stringify(jar.cookiesForURL(`${base}/`)));
  console.log(JSON.stringify(http.get(`${base}/cookies`).json('cookies')));
  console.log(JSON.stringify(http.get(`${base}/cookies`, { jar: null }).json('cookies')));
}

// exit: 0
// requests: GET /echo, GET /cookies/set?k=v, GET /echo, GET /echo, GET /echo, GET /cookies/set?k=v, GET /echo, GET /echo
// passed: 8
// failed: 0
// iterations: 2
import http from 'k6/http';
import { check } from 'k6';
export const options = { iterations: 2 };
export default function () {
  const before = http.get(__ENV.BASE + '/echo').json();
  check(before, { 'none at first': (b) => b.headers.Cookie === undefined });
  check(http.get(__ENV.BASE + '/cookies/set?k=v').json(), { 'along the redirect': (b) => b.headers.Cookie === 'k=v' });
  check(http.cookieJar().cookiesForURL(__ENV.BASE + '/'), { jar: (c) => c.k[0] === 'v' });
  const own = http.get(__ENV.BASE + '/echo', { cookies: { k: { value: 'w', replace: true } } }).json();
  check(own, { replaced: (b) => b.headers.Cookie === 'k=w' });
}

// row: cookies, response.cookies
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const c = encodeURIComponent;
  const res = http.get(`${base}/cookies/set-raw?c=${c('a=1; Path=/; HttpOnly')}&c=${c('b=2; Path=/deep; Secure')}&c=${c('c=3; Max-Age=60; SameSite=Lax')}`);
  for (const name of Object.keys(res.cookies).sort()) {
    const { value, path, domain, http_only, secure, max_age } = res.cookies[name][0];
    console.log(name, sorted({ value, path, domain, http_only, secure, max_age }));
  }
  http.get(`${base}/cookies`);
}

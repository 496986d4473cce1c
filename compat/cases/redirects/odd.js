// row: redirects
import http from 'k6/http';
const base = __ENV.BASE;
const to = (location) => `${base}/redirect-to?url=${encodeURIComponent(location)}`;
export default function () {
  for (const location of ['/anything/a/../b', '/anything/a b', '/anything/\\|^', '/anything/%41', '/anything/ü', '?x=|', '#frag', '../anything/./c', '//', 'http://', '/%zz', ' /get', 'ftp://x/']) {
    const r = http.get(to(location), { redirects: location === '#frag' ? 1 : 3 });
    console.log(location, r.status, r.error_code, r.error, r.url, r.request.method, r.request.url, JSON.stringify(r.headers['Content-Length'] === undefined));
  }
  const own = http.post(to('/anything'), 'x', { headers: { Host: 'own.test', Referer: 'http://r/', 'Content-Language': 'en' } });
  console.log(own.status, own.request.method, own.json('method'), own.json('headers').Referer);
  console.log(http.get(`${base}/relative-redirect/1#frag`).json('headers').Referer);
}

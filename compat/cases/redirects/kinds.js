// row: redirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const kind of ['relative-redirect', 'absolute-redirect']) console.log(http.get(`${base}/${kind}/2`).url);
  console.log(http.get(`${base}/redirect-to?url=${encodeURIComponent('../get?x=1')}`).url);
  console.log(http.get(`${base}/redirect-to?url=${encodeURIComponent('?y=2')}`, { redirects: 1 }).status);
}

// row: cookies
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const c = encodeURIComponent;
  http.get(`${base}/cookies/set-raw?c=${c('sp=a b; Path=/')}&c=${c('q="quoted"; Path=/')}&c=${c('empty=; Path=/')}&c=${c('noequals')}&c=${c('eq=a=b; Path=/')}`);
  http.get(`${base}/cookies`);
  http.get(`${base}/cookies`, { headers: { Cookie: 'by=hand' } });
}

// row: response.request
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const { method, url, headers, body, cookies } = http.post(`${base}/post`, { a: 1 }, { headers: { 'X-A': 'b' }, cookies: { c: 'd' } }).request;
  delete headers['User-Agent'];
  console.log(method, url, body, JSON.stringify(headers), JSON.stringify(cookies));
}

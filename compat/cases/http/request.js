// row: k6/http.request
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const method of ['GET', 'get', 'POST', 'propfind', 'PURGE']) {
    const res = http.request(method, `${base}/anything/${method}`, method === 'POST' ? 'x' : null);
    console.log(method, res.json('method'), res.request.method);
  }
  http.request('GET', `${base}/get`, 'a body with a GET');
}

// row: params
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.get(`${base}/get`, null);
  http.get(`${base}/get`, undefined);
  http.get(`${base}/get`, {});
  http.get(`${base}/get`, { headers: null, tags: null, cookies: null });
  http.get(`${base}/get`, { unknown: 1 });
}

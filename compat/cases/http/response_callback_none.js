// row: k6/http.setResponseCallback
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.setResponseCallback(null);
  http.get(`${base}/status/500`);
  http.get(`${base}/get`);
}

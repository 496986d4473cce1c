// row: http2
import http from 'k6/http';
export default function () {
  console.log(http.get(`${__ENV.BASE}/get`).proto, http.get(`${__ENV.TLS}/get`).proto);
}

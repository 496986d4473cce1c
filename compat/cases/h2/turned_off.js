// row: http2
// env: GODEBUG=http2client=0
import http from 'k6/http';
export default function () {
  console.log(http.get(`${__ENV.TLS_2}/get`).proto, http.get(`${__ENV.TLS_2}/get`).proto);
}

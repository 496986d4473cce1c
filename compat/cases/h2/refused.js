// row: http2
import http from 'k6/http';
export default function () {
  console.log(http.get(`${__ENV.TLS_2}/get`).status);
  const answer = http.post(`${__ENV.TLS_2}/h2/refused`, 'body');
  console.log(answer.status, answer.proto, answer.error_code);
}

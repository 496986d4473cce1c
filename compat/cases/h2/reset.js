// row: http2
import http from 'k6/http';
export default function () {
  for (const code of [2, 8, 11, 13]) {
    const answer = http.get(`${__ENV.TLS_2}/h2/reset/${code}`);
    console.log(code, answer.status, answer.proto, answer.error, answer.error_code);
  }
  console.log(http.get(`${__ENV.TLS_2}/get`).status);
}

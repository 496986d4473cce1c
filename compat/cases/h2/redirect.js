// row: http2
import http from 'k6/http';
export default function () {
  const answer = http.get(`${__ENV.TLS_2}/redirect-to?url=${__ENV.TLS}/get`);
  console.log(answer.status, answer.proto);
  const back = http.get(`${__ENV.TLS}/redirect-to?url=${__ENV.TLS_2}/get`);
  console.log(back.status, back.proto);
}

// row: http2
// order: any
import http from 'k6/http';
export default function () {
  http.get(`${__ENV.TLS_2}/get`);
  const answers = http.batch([1, 2, 3, 4, 5, 6].map((number) => `${__ENV.TLS_2}/get?n=${number}`));
  console.log(answers.map((answer) => `${answer.proto} ${answer.json('args.n')}`).join());
  console.log(answers.map((answer) => answer.timings.connecting).join());
}

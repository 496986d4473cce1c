// row: http2
// order: any
import http from 'k6/http';
export default async function () {
  const answers = await Promise.all([1, 2, 3].map((number) => http.asyncRequest('GET', `${__ENV.TLS_2}/get?n=${number}`)));
  console.log(answers.map((answer) => `${answer.proto} ${answer.json('args.n')}`).join());
}

// row: environment.HTTP_PROXY
// env: HTTP_PROXY=http://{proxy}
import http from 'k6/http';
export default function () {
  const answers = ['a', 'b', 'a', 'c'].map((name) => http.get(`http://${name}.test/get`));
  console.log(answers.map((answer) => answer.timings.connecting > 0).join());
}

// row: environment.NO_PROXY
// env: http_proxy=http://{proxy}
// env: NO_PROXY=a.test, .b.test, c.test:81, 10.0.0.0/8
// args: --no-thresholds
import http from 'k6/http';
const here = __ENV.BASE.replace('http://', '');
export const options = { hosts: { '*.test': here, 'a.test': here } };
export default function () {
  for (const host of ['a.test', 'x.a.test', 'nota.test', 'b.test', 'x.b.test', 'c.test', 'c.test:81']) {
    http.get(`http://${host}/get?host=${host}`);
  }
  console.log(http.get(`${__ENV.BASE}/get`).status);
}

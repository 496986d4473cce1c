// row: k6/http.options
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  console.log(http.options(`${base}/get`).status);
  http.options(`${base}/anything`, 'x', { headers: { A: 'b' } });
}

// row: response.body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const body = http.get(`${base}/bytes/200`).body;
  console.log(typeof body, body.length, body.charCodeAt(127), body.charCodeAt(128), body.charCodeAt(199));
}

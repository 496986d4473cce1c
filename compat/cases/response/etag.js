// row: response.headers
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const tag = http.get(`${base}/etag/abc`).headers.Etag;
  const again = http.get(`${base}/etag/abc`, { headers: { 'If-None-Match': tag } });
  console.log(tag, again.status, JSON.stringify(again.body));
}

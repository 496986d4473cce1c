// row: error codes
import http from 'k6/http';
export default function () {
  const r = http.get('http://127.0.0.1:1/');
  console.log(r.status, r.error_code, r.body, r.proto, JSON.stringify(r.headers), r.url, r.error);
}

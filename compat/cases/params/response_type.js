// row: params.responseType
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const text = http.get(`${base}/encoding/utf8`, { responseType: 'text' });
  console.log(typeof text.body, text.body.length);
  const binary = http.get(`${base}/bytes/8`, { responseType: 'binary' });
  console.log(binary.body instanceof ArrayBuffer, new Uint8Array(binary.body).join());
  const none = http.get(`${base}/get`, { responseType: 'none' });
  console.log(none.status, none.body);
}

// row: request body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const bytes = new Uint8Array([0, 1, 2, 250]);
  http.post(`${base}/post`, bytes.buffer, { headers: { 'Content-Type': 'application/octet-stream' } });
  http.post(`${base}/post`, bytes.buffer.slice(2));
}

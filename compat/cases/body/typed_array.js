// row: request body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.post(`${base}/post`, new Uint8Array([65, 66, 67]));
  http.post(`${base}/post`, new Uint8Array([65, 66, 67, 68]).subarray(1, 3));
}

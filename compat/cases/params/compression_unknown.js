// row: params.compression
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.post(`${base}/post`, 'x', { compression: 'lzma' });
  console.log('not reached');
}

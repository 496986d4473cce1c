// row: k6/http.file, globals.open
import http from 'k6/http';
const base = __ENV.BASE;
const bytes = open('./data/bytes.bin', 'b');
export default function () {
  console.log(bytes.byteLength, http.file(bytes, 'x').content_type);
  http.post(`${base}/post`, { f: http.file(bytes, 'bytes.bin') });
}

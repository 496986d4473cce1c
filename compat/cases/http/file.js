// row: k6/http.file
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const data = { note: 'n', part: http.file('data', 'a.txt', 'text/plain') };
  const res = http.post(`${base}/post`, data);
  console.log(res.status, res.json('headers.Content-Type').startsWith('multipart/form-data; boundary='));
  const file = http.file('abc', 'b.bin');
  console.log(file.filename, file.content_type, file.data);
}

// exit: 0
// requests: POST /
// passed: 3
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const sent = http.post(__ENV.BASE + '/', { note: 'n', f: http.file('data', 'a.txt', 'text/plain') }).json();
  check(sent, {
    type: (s) => s.headers['Content-Type'].startsWith('multipart/form-data; boundary='),
    file: (s) => s.body.includes('name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\ndata\r\n'),
    field: (s) => s.body.includes('name="note"\r\n\r\nn\r\n'),
  });
}

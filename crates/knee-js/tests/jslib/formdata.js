// passed: 1
// failed: 0
// requests: POST /upload
import http from 'k6/http';
import { check } from 'k6';
import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js';
import { FormData as First } from 'https://jslib.k6.io/formdata/0.0.1/index.js';

const bytes = (form) => String.fromCharCode(...new Uint8Array(form.body()));

export default function () {
  const form = new FormData();
  form.append('field', 'value');
  form.append('upload', http.file('content', 'name.txt', 'text/x'));
  const headers = { 'Content-Type': `multipart/form-data; boundary=${form.boundary}` };
  const sent = http.post(`${__ENV.BASE}/upload`, form.body(), { headers }).json().body;
  const mark = `--${form.boundary}`;
  const expected = [
    `${mark}\r\nContent-Disposition: form-data; name="field"\r\nContent-Type: text/plain\r\n\r\nvalue\r\n`,
    `${mark}\r\nContent-Disposition: form-data; name="upload"; filename="name.txt"\r\n`,
    'Content-Type: text/x\r\n\r\ncontent\r\n',
    `${mark}--\r\n`,
  ].join('');
  if (!check(sent, { 'is what was put in': (body) => body === expected })) console.error(sent);
  const odd = FormData();
  odd.boundary = 'mark';
  odd.append('f', { data: '\u00e4\u2603', filename: 'a"b' });
  const head = '--mark\r\nContent-Disposition: form-data; name="f"';
  const type = 'Content-Type: application/octet-stream';
  const found = bytes(odd);
  const wanted = `${head}; filename="a%22b"\r\n${type}\r\n\r\n\u00e4\u0003\r\n--mark--\r\n`;
  if (found !== wanted) console.error('letters are bytes', found);
  const first = new First();
  first.boundary = 'mark';
  first.append('f', 'text');
  if (bytes(first) !== `${head}\r\n${type}\r\n\r\n\r\n--mark--\r\n`) console.error('0.0.1', bytes(first));
}

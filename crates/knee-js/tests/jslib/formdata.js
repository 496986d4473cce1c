// passed: 1
// failed: 0
// requests: POST /upload
import http from 'k6/http';
import { check } from 'k6';
import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js';

export default function () {
  const form = new FormData();
  form.append('field', 'v\u00e4lue');
  form.append('upload', http.file('content', 'name.txt', 'text/x'));
  const headers = { 'Content-Type': `multipart/form-data; boundary=${form.boundary}` };
  const sent = http.post(`${__ENV.BASE}/upload`, form.body(), { headers }).json().body;
  const mark = `--${form.boundary}`;
  const expected = [
    `${mark}\r\nContent-Disposition: form-data; name="field"\r\nContent-Type: text/plain\r\n\r\nv\u00e4lue\r\n`,
    `${mark}\r\nContent-Disposition: form-data; name="upload"; filename="name.txt"\r\nContent-Type: text/x\r\n\r\ncontent\r\n`,
    `${mark}--\r\n`,
  ].join('');
  if (!check(sent, { 'is what was put in': (body) => body === expected })) console.error(sent);
}

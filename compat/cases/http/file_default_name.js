// row: k6/http.file
import http from 'k6/http';
export default function () {
  const file = http.file('data');
  console.log(/^[0-9]+$/.test(file.filename), file.content_type);
}

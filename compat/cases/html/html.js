// row: Selection.html
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  console.log(page.find('#outer').html(), page.find('p.second').html(), page.find('h1').html());
}

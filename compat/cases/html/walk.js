// row: Selection.each, Selection.map, Selection.toArray, Selection.get
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  page.find('li').each((i, el) => console.log(i, el.textContent()));
  console.log(page.find('li').map((i, el) => `${i}${el.text()}`).join());
  console.log(page.find('li').toArray().length, page.find('li').toArray()[1].text(), page.find('li').get(2).textContent());
}

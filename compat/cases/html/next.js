// row: Selection.next, Selection.nextAll, Selection.prev, Selection.prevAll
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  console.log(page.find('.first').next().text(), page.find('.first').nextAll().size(), page.find('.last').prev().text(), page.find('.last').prevAll().size());
  console.log(page.find('.first').nextUntil('.last').size(), page.find('.last').prevUntil('.first').size(), page.find('.first').nextAll('.last').text());
}

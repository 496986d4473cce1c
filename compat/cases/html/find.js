// row: html.parseHTML, Selection.find, Selection.text, Selection.size
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  console.log(page.find('title').text(), page.find('li').size(), page.find('li.item:nth-child(2)').text(), page.find('ul > .last').text());
  console.log(page.find('#list').find('b').text(), page.find('[name=csrf]').size(), page.find('p:contains("second")').size(), page.find('none').text());
}

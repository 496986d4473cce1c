// row: Selection.first, Selection.last, Selection.eq, Selection.slice, Selection.filter, Selection.not, Selection.has, Selection.is, Selection.add, Selection.end, Selection.index
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  const li = page.find('li');
  console.log(li.first().text(), li.last().text(), li.eq(1).text(), li.eq(-1).text(), li.slice(1).size(), li.slice(0, 2).size());
  console.log(li.filter('.first').size(), li.not('.first').size(), li.has('b').size(), li.is('.last'), li.first().is('.last'));
  console.log(li.filter((i, el) => i > 0).size(), li.add('p').size(), li.find('b').end().size(), page.find('.last').index());
}

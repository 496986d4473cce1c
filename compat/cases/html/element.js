// row: html.Element
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  const ul = page.find('#list').get(0);
  console.log(ul.nodeName(), ul.id(), ul.getAttribute('data-kind'), ul.hasAttribute('nope'), ul.childElementCount(), ul.firstElementChild().textContent());
  const a = page.find('a').get(0);
  console.log(a.href(), a.pathname(), a.innerHTML(), a.nodeType(), a.classList ? a.classList().length : 0);
}

// row: Selection.serialize, Selection.serializeArray, Selection.serializeObject
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  const form = page.find('#login');
  console.log(form.serialize());
  console.log(JSON.stringify(form.serializeArray()));
  console.log(JSON.stringify(Object.entries(form.serializeObject()).sort()));
}

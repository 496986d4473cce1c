// row: response.html
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/html`);
  console.log(r.html().find('title').text(), r.html('h1').text(), r.html('li').size(), r.html('nothing').size());
}

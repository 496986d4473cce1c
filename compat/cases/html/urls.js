// row: html.Element
// URLs of elements, on a page with a URL and on one without.
import http from 'k6/http';
import { parseHTML } from 'k6/html';
const hrefs = ['http://u:p%40@h.test:80/a b/../c?d e#f%20g', 'https://h.test:443/', 'https://h.test:8443', '/x y|z', '?q', '#frag', 'file:///etc/x', 'mailto:a@b', '//other.test/a', '', '%zz', 'http://H.test/%41'];
const page = hrefs.map((href) => `<a href="${href}">x</a>`).join('') + '<a>none</a><img src="../i.png"><form action="/go?x"></form><form></form>';
const port = __ENV.BASE.split(':').pop();
const parts = ['hash', 'host', 'hostname', 'origin', 'password', 'pathname', 'port', 'protocol', 'search', 'username', 'href', 'toString'];
export default function () {
  const served = http.post(`${__ENV.BASE}/echo?a=b#c`, page, { headers: { 'Content-Type': 'text/html' } });
  for (const [name, doc] of [['no URL', parseHTML(page)], ['page', served.html()]]) {
    doc.find('a').toArray().forEach((one) => {
      const element = one.get(0);
      console.log(name, parts.map((part) => `${part}=${String(element[part]()).replace(port, 'PORT')}`).join(' '));
    });
    console.log(name, doc.find('img').get(0).src());
    doc.find('form').toArray().forEach((one) => console.log(name, one.get(0).action()));
  }
}

// row: response.submitForm
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const page = http.get(`${base}/html`);
  console.log(page.submitForm({ formSelector: '#search', fields: { q: 'a b', extra: '1' } }).url);
  const form = http.get(`${base}/forms/post`).submitForm({ fields: { custname: 'x', size: 'large' }, params: { headers: { 'X-Own': 'yes' } } });
  console.log(form.status, sorted(form.json('form')));
}

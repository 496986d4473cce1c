// row: response.submitForm
import http from 'k6/http';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const base = __ENV.BASE;
export default function () {
  const page = http.get(`${base}/html`);
  const r = page.submitForm({ formSelector: '#login', fields: { user: 'ann', word: 'secret' } });
  console.log(r.status, sorted(r.json('form')));
}

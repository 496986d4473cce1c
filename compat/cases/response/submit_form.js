// row: response.submitForm
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const page = http.get(`${base}/html`);
  const r = page.submitForm({ formSelector: '#login', fields: { user: 'ann', word: 'secret' } });
  console.log(r.status, JSON.stringify(r.json('form')));
}

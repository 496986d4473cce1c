// row: response.submitForm
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const page = http.get(`${base}/html`);
  page.submitForm({ formSelector: '#login', submitSelector: '[name="other"]' });
  page.submitForm({ formSelector: '#missing' });
}

import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 3, iterations: 30, thresholds: { checks: ['rate==1'] } };

export default function () {
  const page = http.get(`${__ENV.URL}/login`);
  const token = page.html().find('input[name=token]').attr('value');
  check(token, { 'the page has a token': (text) => text.length > 0 });
  // Sends all fields of the form, the hidden ones too, and follows the redirect with the cookies of this VU.
  const inside = page.submitForm({ fields: { user: `user${__VU}`, password: 'secret' } });
  check(inside, { 'is logged in': (r) => r.status === 200 && r.body.includes(`Hello user${__VU}`) });
}

// exit: 0
// requests: POST /, POST /, POST /
// passed: 5
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const form = http.post(__ENV.BASE + '/', { b: 'x y', a: 1 }).json();
  check(form, { encoded: (f) => f.body === 'a=1&b=x+y', type: (f) => f.headers['Content-Type'] === 'application/x-www-form-urlencoded' });
  const json = http.post(__ENV.BASE + '/', JSON.stringify({ a: 1 }), { headers: { 'content-type': 'application/json' } }).json();
  check(json, { sent: (j) => j.body === '{"a":1}', named: (j) => j.headers['Content-Type'] === 'application/json' });
  const none = http.post(__ENV.BASE + '/').json();
  check(none, { empty: (n) => n.body === '' && n.headers['Content-Length'] === '0' });
}

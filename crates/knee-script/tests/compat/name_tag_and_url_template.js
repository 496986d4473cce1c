// exit: 0
// requests: GET /items/7, GET /items/8
// passed: 2
// failed: 0
// iterations: 1
import http, { url } from 'k6/http';
import { check } from 'k6';
export default function () {
  check(http.get(url`${__ENV.BASE}/items/${7}`), { sent: (r) => r.json('path') === '/items/7' });
  check(http.get(http.url`${__ENV.BASE}/items/${8}`, { tags: { name: 'item' } }), { sent: (r) => r.status === 200 });
}

// exit: 0
// requests: GET /a, POST /b, PUT /c
// passed: 2
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export const options = { batchPerHost: 1 };
export default function () {
  const list = http.batch([__ENV.BASE + '/a', ['POST', __ENV.BASE + '/b', 'x'], { method: 'PUT', url: __ENV.BASE + '/c', body: 'y' }]);
  check(list, { length: (l) => l.length === 3, methods: (l) => l.map((r) => r.json('method')).join() === 'GET,POST,PUT' });
}

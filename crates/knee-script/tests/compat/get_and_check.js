// exit: 0
// requests: GET /json
// passed: 7
// failed: 1
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const r = http.get(__ENV.BASE + '/json');
  check(r, { status: (r) => r.status === 200, text: (r) => r.body.includes('deep'), never: () => false });
  check(r, { json: (r) => r.json().ok === true, path: (r) => r.json('a.b.2.c') === 'deep', missing: (r) => r.json('x.y') === undefined });
  check(r, { 'header names': (r) => r.headers['Content-Type'] === 'application/json', timings: (r) => r.timings.duration > 0 });
}

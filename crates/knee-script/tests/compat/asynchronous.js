// exit: 0
// requests: GET /one, GET /two
// passed: 2
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
import { setTimeout as later } from 'k6/timers';
export default async function () {
  const r = await http.asyncRequest('GET', __ENV.BASE + '/one');
  check(r, { status: (r) => r.status === 200 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  later(() => { http.get(__ENV.BASE + '/two'); check(1, { later: true }); }, 5);
}

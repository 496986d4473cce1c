// exit: 0
// requests: GET /status/404, GET /status/200
// passed: 2
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  http.setResponseCallback(http.expectedStatuses(404, { min: 500, max: 503 }));
  check(http.get(__ENV.BASE + '/status/404'), { still: (r) => r.status === 404 });
  check(http.get(__ENV.BASE + '/status/200', { responseCallback: null }), { null: (r) => r.status === 200 });
}

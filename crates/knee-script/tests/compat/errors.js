// exit: 0
// requests: GET /status/404
// passed: 3
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  check(http.get(__ENV.BASE + '/status/404'), { 404: (r) => r.status === 404 && r.error_code === 1404 });
  check(http.get('http://127.0.0.1:1/'), { refused: (r) => r.status === 0 && r.error_code === 1212 && r.body === null });
  check(http.get('nonsense'), { 'no url': (r) => r.status === 0 && r.error_code === 1000 });
}

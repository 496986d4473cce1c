// exit: 0
// requests: GET /echo
// passed: 1
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const url = __ENV.BASE.replace('http://', 'http://u:p@') + '/auth';
  check(http.get(url.replace('/auth', '/echo')), { basic: (r) => r.json('headers.Authorization') === 'Basic dTpw' });
}

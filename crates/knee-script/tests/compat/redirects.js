// exit: 0
// requests: GET /redirect/2, GET /redirect/1, GET /echo, GET /redirect/2, GET /redirect/3, GET /redirect/2, POST /redirect/1, GET /echo
// passed: 4
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  check(http.get(__ENV.BASE + '/redirect/2'), { followed: (r) => r.status === 200 && r.url.endsWith('/echo') });
  check(http.get(__ENV.BASE + '/redirect/2', { redirects: 0 }), { stayed: (r) => r.status === 302 });
  check(http.get(__ENV.BASE + '/redirect/3', { redirects: 1 }), { halfway: (r) => r.status === 302 });
  check(http.post(__ENV.BASE + '/redirect/1', 'x'), { 'a get': (r) => r.json('method') === 'GET' });
}

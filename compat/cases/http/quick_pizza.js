// row: k6/http.get, k6.check, k6.sleep
// args: -i 2
import http from 'k6/http';
import { check, sleep } from 'k6';
export default function () {
  const res = http.get(__ENV.BASE);
  check(res, { 'status is 200': (r) => r.status === 200, 'has a title': (r) => r.body.includes('<title>') });
  sleep(0.01);
}

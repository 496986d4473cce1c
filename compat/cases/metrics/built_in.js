// row: built-in metrics
// args: -i 3
import http from 'k6/http';
import { check, group } from 'k6';
export default function () {
  group('g', () => check(http.get(`${__ENV.BASE}/get`), { ok: (r) => r.status === 200 }));
}

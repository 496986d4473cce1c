// row: options.systemTags, params.tags
// args: --out json={out}/all.json
// samples: all.json
// Without the tag `name` among the system's, a request can have one of its own.
import http from 'k6/http';
import { check } from 'k6';
export const options = {
  systemTags: ['url', 'status', 'check', 'group'],
  thresholds: { 'http_reqs{name:x}': ['count==1'], 'http_req_failed{url:x}': ['rate==0'], 'http_req_waiting{method:own}': ['max>=0'] },
};
export default function () {
  http.get(`${__ENV.BASE}/get`, { tags: { name: 'x' } });
  http.get(http.url`${__ENV.BASE}/anything/${1}`);
  http.get(`${__ENV.BASE}/get`, { tags: { url: 'own', status: 'own', method: 'own', group: 'own', expected_response: 'own', error_code: 'own' } });
  check(1, { c: () => true }, { check: 'own', name: 'n' });
}

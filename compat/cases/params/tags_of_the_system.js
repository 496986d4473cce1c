// row: params.tags, exec.vu.metrics.tags
// args: --out json={out}/all.json
// samples: all.json
// Whose tag counts if the script and k6 both have one.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, group } from 'k6';
export default function () {
  const own = { url: 'own', status: 'own', method: 'own', proto: 'own', expected_response: 'own', error_code: 'own', scenario: 'own', group: 'own', tls_version: 'own', ip: 'own' };
  http.get(`${__ENV.BASE}/get`, { tags: own });
  exec.vu.metrics.tags.name = 'of the VU';
  http.get(`${__ENV.BASE}/get`);
  http.get(`${__ENV.BASE}/get`, { tags: { name: 'of the request' } });
  http.get(http.url`${__ENV.BASE}/anything/${1}`);
  exec.vu.metrics.tags.status = 'of the VU';
  exec.vu.metrics.tags.scenario = 'of the VU';
  group('g', () => http.get(`${__ENV.BASE}/status/404`, { tags: { group: 'own' } }));
  check(1, { c: () => true }, { check: 'own', group: 'own', scenario: 'own' });
}

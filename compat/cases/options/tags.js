// row: options.tags
import http from 'k6/http';
export const options = { tags: { team: 'a' }, thresholds: { 'http_reqs{team:a}': ['count==2'], 'http_reqs{team:b}': ['count==1'], 'iterations{team:a}': ['count==1'] } };
export default function () {
  http.get(`${__ENV.BASE}/get?1`); http.get(`${__ENV.BASE}/get?2`); http.get(`${__ENV.BASE}/get?3`, { tags: { team: 'b' } });
}

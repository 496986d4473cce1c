// row: k6.group, summary.sub-metrics
import http from 'k6/http';
import { group } from 'k6';
export const options = { thresholds: { 'http_reqs{group:::one}': ['count==1'], 'http_reqs{group:::one::two}': ['count==1'], 'group_duration{group:::one}': ['max>=0'] } };
export default function () {
  group('one', () => { http.get(`${__ENV.BASE}/get?1`); group('two', () => http.get(`${__ENV.BASE}/get?2`)); });
  http.get(`${__ENV.BASE}/get?3`);
}

// row: exec.vu.metrics.tags
import http from 'k6/http';
import exec from 'k6/execution';
export const options = { thresholds: { 'http_reqs{mine:yes}': ['count==1'], 'http_reqs{number:5}': ['count==1'], 'iterations{mine:yes}': ['count==1'] } };
export default function () {
  http.get(`${__ENV.BASE}/get?1`);
  exec.vu.metrics.tags.mine = 'yes';
  exec.vu.metrics.tags['number'] = 5;
  console.log(exec.vu.metrics.tags.mine, exec.vu.metrics.tags.scenario, exec.vu.metrics.tags.missing);
  http.get(`${__ENV.BASE}/get?2`);
}

// row: summary.data
// files: data.txt
import { check, group } from 'k6';
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
const mine = new Counter('my_counter'), trend = new Trend('my_trend');
export const options = { iterations: 2, thresholds: { my_counter: ['count>1', 'count<1'] } };
export function setup() { return { a: 1 }; }
export default function () { mine.add(2); trend.add(4); group('g', () => check(http.get(`${__ENV.BASE}/get`), { ok: (r) => r.status === 200, never: () => false })); }
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
export function handleSummary(data) {
  const { my_counter, my_trend, checks, iterations, http_req_failed } = data.metrics;
  delete my_counter.values.rate; delete iterations.values.rate;
  const lines = [my_counter, my_trend, checks, iterations, http_req_failed].map(sorted);
  lines.push(sorted(data.root_group), sorted(data.options), sorted(data.setup_data), Object.keys(data.state).sort().join());
  lines.push(Object.keys(data.metrics).filter((name) => !name.startsWith('vus')).sort().map((name) => `${name} ${data.metrics[name].type} ${data.metrics[name].contains}`).join('\n'));
  return { 'data.txt': lines.join('\n') };
}

// row: thresholds.filters
// A metric without samples is shown if a sub-metric of it has a threshold.
import { Counter, Trend } from 'k6/metrics';
new Counter('my_count'); new Trend('my_trend'); new Counter('my_other');
export const options = { thresholds: { 'my_count{a:b}': ['count==0'], 'my_trend{a:b}': ['avg<1'], 'http_reqs{a:b}': ['count<1'] } };
export default function () {}
export function handleSummary(data) {
  for (const name of Object.keys(data.metrics).sort()) console.log(name);
  return {};
}

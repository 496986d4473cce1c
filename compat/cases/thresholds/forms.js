// row: thresholds.forms
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const count = new Counter('my_count'), gauge = new Gauge('my_gauge'), rate = new Rate('my_rate'), trend = new Trend('my_trend');
export const options = { thresholds: { my_count: ['count==3', { threshold: 'count<10' }, { threshold: 'count>1', abortOnFail: false }], my_gauge: [] } };
export default function () {
  count.add(3); gauge.add(5); rate.add(true); rate.add(false); for (let v = 1; v <= 10; v++) trend.add(v);
}

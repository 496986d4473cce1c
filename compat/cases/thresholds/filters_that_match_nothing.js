// row: thresholds.filters
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const count = new Counter('my_count'), gauge = new Gauge('my_gauge'), rate = new Rate('my_rate'), trend = new Trend('my_trend');
export const options = { thresholds: { 'my_count{a:b}': ['count==0'], 'my_trend{a:b}': ['avg<1'], 'my_rate{a:b}': ['rate>0.5'] } };
export default function () {
  count.add(3); gauge.add(5); rate.add(true); rate.add(false); for (let v = 1; v <= 10; v++) trend.add(v);
}

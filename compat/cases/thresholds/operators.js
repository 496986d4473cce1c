// row: thresholds.operators
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const count = new Counter('my_count'), gauge = new Gauge('my_gauge'), rate = new Rate('my_rate'), trend = new Trend('my_trend');
export const options = { thresholds: { my_count: ['count>2', 'count>=3', 'count<4', 'count<=3', 'count==3', 'count===3', 'count!=4', '  count  <  4  ', 'count<4.5'] } };
export default function () {
  count.add(3); gauge.add(5); rate.add(true); rate.add(false); for (let v = 1; v <= 10; v++) trend.add(v);
}

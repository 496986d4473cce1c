// row: k6/metrics.Counter
import { Counter, Trend } from 'k6/metrics';
const counter = new Counter('my_counter'), trend = new Trend('my_trend');
export default function () {
  counter.add(1);
  counter.add(NaN); counter.add('text'); counter.add(undefined); counter.add(null); counter.add();
  trend.add(2); trend.add(NaN);
  console.log('still here');
}

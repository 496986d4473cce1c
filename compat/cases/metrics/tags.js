// row: k6/metrics.Counter, thresholds.filters
import { Counter, Trend } from 'k6/metrics';
const counter = new Counter('my_counter'), trend = new Trend('my_trend');
export const options = { thresholds: { 'my_counter{a:1}': ['count==3'], 'my_counter{a:1,b:2}': ['count==2'], 'my_trend{a:x}': ['avg==5'], 'my_counter{a:none}': ['count==0'] } };
export default function () {
  counter.add(1, { a: 1 }); counter.add(2, { a: '1', b: '2' }); counter.add(4);
  trend.add(5, { a: 'x' }); trend.add(50, { a: 'y' });
}

// row: thresholds.counter, thresholds.gauge, thresholds.rate, thresholds.trend
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const count = new Counter('my_count'), gauge = new Gauge('my_gauge'), rate = new Rate('my_rate'), trend = new Trend('my_trend');
export const options = { thresholds: { my_count: ['count==3', 'rate>0'], my_gauge: ['value==5'], my_rate: ['rate==0.5'], my_trend: ['avg==5.5', 'min==1', 'max==10', 'med==5.5', 'p(90)==9.1', 'p(0)==1', 'p(100)==10', 'p(99.9)<10'] } };
export default function () {
  count.add(3); gauge.add(5); rate.add(true); rate.add(false); for (let v = 1; v <= 10; v++) trend.add(v);
}

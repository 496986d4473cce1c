// row: thresholds.counter
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const count = new Counter('my_count'), gauge = new Gauge('my_gauge'), rate = new Rate('my_rate'), trend = new Trend('my_trend');
export const options = { thresholds: { http_reqs: ['count==0'], http_req_failed: ['rate<0.1'], http_req_duration: ['p(95)<1'], checks: ['rate>0.9'] } };
export default function () {
  count.add(3); gauge.add(5); rate.add(true); rate.add(false); for (let v = 1; v <= 10; v++) trend.add(v);
}

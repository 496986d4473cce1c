// row: summary.text
// stdout: yes
import { check, group } from 'k6';
import { Gauge, Rate, Trend } from 'k6/metrics';
const gauge = new Gauge('my_gauge'), rate = new Rate('my_rate'), trend = new Trend('my_trend'), time = new Trend('my_time', true);
export const options = { thresholds: { my_trend: ['avg<100', 'p(95)>100'] } };
export default function () {
  check(1, { yes: () => true, no: () => false });
  group('a group', () => check(1, { inside: () => true }));
  gauge.add(5); rate.add(true); rate.add(false); rate.add(true); for (let v = 0; v < 10; v++) trend.add(v * 1000.5); time.add(1234.5678); time.add(0.0123);
}

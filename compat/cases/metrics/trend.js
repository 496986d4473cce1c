// row: k6/metrics.Trend
import { Trend } from 'k6/metrics';
const trend = new Trend('my_trend'), time = new Trend('my_time', true);
export default function () {
  for (let value = 1; value <= 10; value++) trend.add(value);
  time.add(1500.5);
}

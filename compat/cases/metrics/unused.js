// row: k6/metrics.Counter
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
new Counter('unused_counter'); new Gauge('unused_gauge'); new Rate('unused_rate'); new Trend('unused_trend');
export default function () {}

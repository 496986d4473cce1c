// row: k6/metrics.Counter
import { Counter, Gauge, Trend } from 'k6/metrics';
const counter = new Counter('my_counter'), gauge = new Gauge('my_gauge'), trend = new Trend('my_trend');
export default function () { counter.add(-2); counter.add(5); gauge.add(-1); trend.add(-3); trend.add(0.5); }

// row: k6/metrics.Gauge
import { Gauge } from 'k6/metrics';
const gauge = new Gauge('my_gauge');
export default function () { for (const value of [5, 1, 3]) gauge.add(value); }

// row: k6/metrics.Counter, exit codes.107
import { Counter, Trend } from 'k6/metrics';
new Counter('mine');
new Trend('mine');
export default function () {}

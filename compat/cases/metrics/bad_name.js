// row: k6/metrics.Counter, exit codes.107
import { Counter } from 'k6/metrics';
new Counter('has spaces');
export default function () {}

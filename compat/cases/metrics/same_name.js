// row: k6/metrics.Counter
import { Counter } from 'k6/metrics';
const one = new Counter('my_counter'), two = new Counter('my_counter');
export default function () { one.add(1); two.add(2); }

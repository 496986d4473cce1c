// row: k6/metrics.Counter
import { Counter } from 'k6/metrics';
const counter = new Counter('my_counter');
export default function () {
  counter.add(1); counter.add(2.5); counter.add('3'); counter.add(true); counter.add(0);
  console.log(counter.name);
}

// row: outputs.json, exec.vu.metrics.metadata
// args: --out json={out}/samples.json
// samples: samples.json
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';
const mine = new Counter('my_counter');
export default function () {
  mine.add(1);
  exec.vu.metrics.metadata.trace = 'abc';
  mine.add(2);
  delete exec.vu.metrics.metadata.trace;
  mine.add(3);
}

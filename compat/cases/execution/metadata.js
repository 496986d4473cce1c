// row: exec.vu.metrics.metadata
import exec from 'k6/execution';
export default function () {
  exec.vu.metrics.metadata.trace = 'abc';
  console.log(exec.vu.metrics.metadata.trace, Object.keys(exec.vu.metrics.metadata).join());
  delete exec.vu.metrics.metadata.trace;
  console.log(exec.vu.metrics.metadata.trace);
}

// row: flags.--execution-segment
// args: --execution-segment 0:1/2
// lines: set
// loose: iterations
import { sleep } from 'k6';
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'ramping-vus', startVUs: 1, stages: [{ duration: '300ms', target: 5 }, { duration: '700ms', target: 5 }] } } };
export default function () {
  console.log(exec.vu.idInTest, exec.vu.iterationInScenario);
  sleep(5);
}

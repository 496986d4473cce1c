// row: flags.--execution-segment
// args: --execution-segment 1/2:1
import exec from 'k6/execution';
export const options = { scenarios: {
  a: { executor: 'per-vu-iterations', vus: 1, iterations: 1 },
  b: { executor: 'per-vu-iterations', vus: 2, iterations: 1, startTime: '200ms' },
} };
export default function () { console.log(exec.scenario.name, exec.vu.idInTest); }

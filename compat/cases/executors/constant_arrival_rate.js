// row: executors.constant-arrival-rate
// lines: set
// loose: iterations
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 20, timeUnit: '1s', duration: '1s', preAllocatedVUs: 2 } }, thresholds: { iterations: ['count>=20', 'count<=21'] } };
export default function () { console.log(exec.scenario.executor); }

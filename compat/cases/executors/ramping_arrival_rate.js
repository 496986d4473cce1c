// row: executors.ramping-arrival-rate
// lines: set
// loose: iterations
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'ramping-arrival-rate', startRate: 0, timeUnit: '1s', stages: [{ duration: '1s', target: 40 }], preAllocatedVUs: 2 } }, thresholds: { iterations: ['count>=19', 'count<=21'] } };
export default function () { console.log(exec.scenario.executor); }

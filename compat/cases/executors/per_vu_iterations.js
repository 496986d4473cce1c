// row: executors.per-vu-iterations
// lines: any
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'per-vu-iterations', vus: 3, iterations: 2 } } };
export default function () { console.log(exec.scenario.iterationInTest); }

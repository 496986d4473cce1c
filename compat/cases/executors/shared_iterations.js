// row: executors.shared-iterations
// lines: any
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'shared-iterations', vus: 2, iterations: 7, maxDuration: '10s' } } };
export default function () { console.log(exec.scenario.iterationInTest); }

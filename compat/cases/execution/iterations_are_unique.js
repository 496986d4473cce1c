// row: exec.scenario
// lines: any
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'shared-iterations', vus: 3, iterations: 9 } } };
export default function () { console.log(exec.scenario.iterationInTest); }

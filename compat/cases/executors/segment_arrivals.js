// row: flags.--execution-segment
// args: --execution-segment 1/4
// lines: set
// loose: iterations
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 40, duration: '950ms', preAllocatedVUs: 8 } } };
export default function () { console.log(exec.scenario.iterationInTest, exec.scenario.iterationInInstance); }

// row: exit codes.105
// interrupt: fifth
// lines: set
// loose: iterations
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 20, duration: '20s', preAllocatedVUs: 2 } }, thresholds: { iterations: ['count>1000000'] } };
export default function () { if (exec.scenario.iterationInTest === 4) console.log('fifth'); }

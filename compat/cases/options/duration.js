// row: options.duration
// loose: iterations
// order: set
// lines: set
import { sleep } from 'k6';
import exec from 'k6/execution';
export const options = { vus: 1, duration: '1s' };
export default function () { console.log(exec.scenario.executor); sleep(0.1); }

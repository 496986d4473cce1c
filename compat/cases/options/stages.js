// row: options.stages
// loose: iterations
// lines: set
import { sleep } from 'k6';
import exec from 'k6/execution';
export const options = { stages: [{ duration: '300ms', target: 1 }, { duration: '200ms', target: 0 }], startVUs: 1 };
export default function () { console.log(exec.scenario.executor); sleep(0.1); }

// row: executors.ramping-vus
// lines: set
// loose: iterations
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'ramping-vus', startVUs: 0, stages: [{ duration: '500ms', target: 3 }, { duration: '200ms', target: 3 }, { duration: '300ms', target: 0 }], gracefulRampDown: '0s' } } };
export default function () { console.log(__VU); sleep(0.05); }

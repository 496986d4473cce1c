// row: executors.constant-vus
// lines: set
// loose: iterations
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'constant-vus', vus: 3, duration: '1s' } } };
export default function () { console.log(__VU); sleep(0.1); }

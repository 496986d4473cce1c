// row: executors.externally-controlled
// loose: iterations
// lines: set
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'externally-controlled', vus: 1, maxVUs: 1, duration: '300ms' } } };
export default function () { console.log('runs'); sleep(0.1); }

// row: exit codes.105
// interrupt: running, teardown
import { sleep } from 'k6';
export const options = { vus: 1, duration: '20s', thresholds: { checks: ['rate==1'] } };
export default function () { console.log('running'); sleep(10); }
export function teardown() { console.log('teardown'); sleep(5); console.log('not reached'); }

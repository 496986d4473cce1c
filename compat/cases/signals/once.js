// row: exit codes.105
// interrupt: running
// lines: set
// loose: iterations
import { sleep } from 'k6';
export const options = { vus: 1, duration: '20s', gracefulStop: '5s' };
export function setup() { console.log('setup'); return 1; }
export default function () { if (__ITER === 1) console.log('running'); sleep(0.1); }
export function teardown() { console.log('teardown'); }
export function handleSummary() { console.log('summary'); return {}; }

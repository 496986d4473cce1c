// row: thresholds.abortOnFail, exit codes.99
// loose: iterations, my_rate
// lines: set
import { sleep } from 'k6';
import { Rate } from 'k6/metrics';
const rate = new Rate('my_rate');
export const options = { vus: 1, duration: '20s', thresholds: { my_rate: [{ threshold: 'rate<0.5', abortOnFail: true }] } };
export default function () { rate.add(true); console.log('runs'); sleep(0.2); }
export function teardown() { console.log('teardown'); }

// row: exit codes.105, executors.gracefulStop
// interrupt: begun
import http from 'k6/http';
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'constant-vus', vus: 1, duration: '20s', gracefulStop: '5s' } }, thresholds: { iterations: ['count==0'] } };
export default function () { console.log('begun'); sleep(3); }
export function teardown() { console.log('teardown'); console.log(http.get(`${__ENV.BASE}/get`).status); }

// row: executors.constant-arrival-rate, executors.ramping-arrival-rate
// lines: any
// VUs beyond preAllocatedVUs are made when an arrival finds none; the script says when there can be no more.
// loose: iterations, dropped_iterations
// keep: vus_max
import exec from 'k6/execution';
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 20, duration: '1500ms', preAllocatedVUs: 1, maxVUs: 4, gracefulStop: '4s' } } };
export default function () { console.log(exec.vu.idInTest); sleep(3); }

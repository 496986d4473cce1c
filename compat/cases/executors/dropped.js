// row: executors.constant-arrival-rate, built-in metrics
// loose: iterations, dropped_iterations
// lines: set
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 50, duration: '1s', preAllocatedVUs: 1, gracefulStop: '2s' } }, thresholds: { dropped_iterations: ['count>=20'], iterations: ['count<=3'] } };
export default function () { sleep(0.4); }

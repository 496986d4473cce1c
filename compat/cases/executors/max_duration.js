// row: executors.shared-iterations, executors.gracefulStop
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'shared-iterations', iterations: 10, maxDuration: '1s', gracefulStop: '0s' } } };
export default function () { console.log(__ITER); sleep(0.4); }

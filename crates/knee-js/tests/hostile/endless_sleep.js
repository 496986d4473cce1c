// iterations: 0
import { sleep } from 'k6';
export const options = { scenarios: { bad: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };
export default function () { sleep(1e9); }

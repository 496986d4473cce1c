// row: executors.gracefulStop, executors.constant-vus
import { sleep } from 'k6';
export const options = { scenarios: { s: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '2s' } } };
export default function () { console.log('begins'); sleep(1.5); console.log('ends'); }

// row: thresholds.delayAbortEval
import { Rate } from 'k6/metrics';
const rate = new Rate('my_rate');
export const options = { iterations: 2, thresholds: { my_rate: [{ threshold: 'rate<0.5', abortOnFail: true, delayAbortEval: '1m' }] } };
export default function () { rate.add(true); console.log(__ITER); }

// row: k6/metrics.Counter
import { Counter } from 'k6/metrics';
export default function () {
  try { new Counter('late'); } catch (e) { console.log('refused', String(e).includes('init context')); }
}

// row: k6/metrics.Rate
import { Rate } from 'k6/metrics';
const rate = new Rate('my_rate');
export default function () { for (const value of [true, false, 1, 0, 2, -1]) rate.add(value); }

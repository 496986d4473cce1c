// row: outputs.csv, exec.vu.metrics.metadata, options.systemTags, flags.--system-tags
// args: --out csv={out}/samples.csv --system-tags scenario,vu
// samples: samples.csv
import { Counter } from 'k6/metrics';
const mine = new Counter('my_counter');
export const options = { vus: 1, iterations: 2, thresholds: { 'my_counter{vu:1}': ['count==0'] } };
export default function () { mine.add(2, { a: 'b' }); }

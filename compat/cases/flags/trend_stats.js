// row: flags.--summary-trend-stats
// args: --summary-trend-stats min,p(99),count
import { Trend } from 'k6/metrics';
const t = new Trend('my_trend');
export default function () { for (let v = 0; v < 101; v++) t.add(v); }

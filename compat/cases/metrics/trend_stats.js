// row: k6/metrics.Trend, options.summaryTrendStats
import { Trend } from 'k6/metrics';
const trend = new Trend('my_trend');
export const options = { summaryTrendStats: ['min', 'max', 'avg', 'med', 'p(0)', 'p(50)', 'p(99)', 'p(99.9)', 'count'] };
export default function () { for (let value = 0; value < 101; value++) trend.add((value * 37) % 101); }

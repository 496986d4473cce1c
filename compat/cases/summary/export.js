// row: flags.--summary-export
import { check, group } from 'k6';
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
const mine = new Counter('my_counter'), trend = new Trend('my_trend');
export const options = { iterations: 2, thresholds: { my_counter: ['count>1', 'count<1'] } };
export function setup() { return { a: 1 }; }
export default function () { mine.add(2); trend.add(4); group('g', () => check(http.get(`${__ENV.BASE}/get`), { ok: (r) => r.status === 200, never: () => false })); }

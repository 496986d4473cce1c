// row: modules.local
import http, { zip } from 'k6/http';
import { check, assert } from 'k6';
import { Trend, Metric } from 'k6/metrics';
import { parseHTML, other } from 'k6/html';
import exec, { vu, nobody } from 'k6/execution';
import { nothing } from 'k6/crypto';
export { later } from 'k6/encoding';
import { again, Metric as renamed } from './material/uses_metric.js';
export default function () {
  console.log(typeof http.get, zip, typeof check, assert, typeof Trend, Metric, typeof parseHTML, other, typeof exec.vu, typeof vu, nobody, nothing);
  console.log(again, renamed);
  try { new Metric('x'); } catch (e) { console.log(e instanceof TypeError); }
}

// passed: 0
// failed: 0
import { humanizeValue, jUnit, textSummary } from 'https://jslib.k6.io/k6-summary/0.0.2/index.js';

const check = (name, passes, fails) => ({ name, passes, fails });
const data = {
  root_group: {
    name: '',
    groups: [{ name: 'login', groups: [], checks: [check('is 200', 97, 3)] }],
    checks: [check('top', 10, 0)],
  },
  options: { summaryTrendStats: ['avg', 'p(95)', 'count'], summaryTimeUnit: '' },
  metrics: {
    http_req_duration: { type: 'trend', contains: 'time', values: { avg: 140.3612, 'p(95)': 61234.5, count: 45 }, thresholds: { 'avg<100': { ok: false } } },
    'http_req_duration{ok:true}': { type: 'trend', contains: 'time', values: { avg: 0.0123, 'p(95)': 0.5, count: 4 } },
    http_req_failed: { type: 'rate', contains: 'default', values: { rate: 0.0666666, passes: 3, fails: 42 }, thresholds: { 'rate<0.1': { ok: true } } },
    data_sent: { type: 'counter', contains: 'data', values: { count: 519234, rate: 76123.4 } },
    vus: { type: 'gauge', contains: 'default', values: { value: 1, min: 1, max: 10 } },
  },
};

const TEXT = [
  '     \u2713 top',
  '',
  '     \u2588 login',
  '',
  '       \u2717 is 200',
  '        \u21b3  97% \u2014 \u2713 97 / \u2717 3',
  '',
  '     data_sent...........: 519 kB 76 kB/s',
  '   \u2717 http_req_duration...: avg=140.36ms p(95)=1m1s  count=45',
  '       { ok:true }.......: avg=12.3\u00b5s   p(95)=500\u00b5s count=4 ',
  '   \u2713 http_req_failed.....: 6.66%  \u2713 3     \u2717 42  ',
  '     vus.................: 1      min=1   max=10',
].join('\n');

const same = (found, expected) => {
  if (found !== expected) console.error(`${found}\ninstead of\n${expected}`);
};

export default function () {
  same(textSummary(data, { indent: ' ', enableColors: false }), TEXT);
  same(textSummary(data).includes('\x1b[36m519 kB\x1b[0m \x1b[36;2m76 kB/s\x1b[0m'), true);
  same(humanizeValue(5400000, { type: 'trend', contains: 'time' }, ''), '1h30m0s');
  same(humanizeValue(1.5, { type: 'trend', contains: 'time' }, 'us'), '1500.00\u00b5s');
  same(humanizeValue(12345678, { type: 'counter', contains: 'data' }), '12 MB');
  const xml = jUnit(data, { name: 'a<b' });
  same(xml.includes('<testsuites tests="2" failures="1">'), true);
  same(xml.includes('<testsuite name="a&lt;b" '), true);
  same(xml.includes('<testcase name="http_req_failed - rate&lt;0.1" classname="Unnamed folder" />'), true);
}

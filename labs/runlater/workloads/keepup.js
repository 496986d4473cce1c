// Does execution keep up with creation? The published mix, but each immediate task is awaited at the target: one
// that was not called within WAIT is a 404, and so an error. Also reads the service's own backlog
// once per second.
//
// Needs `runlater target`, which logs the executions it was called for. SAMPLE is the share of tasks to await.
import http from 'k6/http';
import { check } from 'k6';
import { Gauge, Trend } from 'k6/metrics';
import { arrivals, base, published, target } from './api.js';

const perSecond = Number(__ENV.RATE || 100);
const patience = __ENV.WAIT || '3s';
const sample = Number(__ENV.SAMPLE || 1);
// The target serves plain HTTP on its TLS port, too.
const stub = target.replace(/^https?:\/\/([^/]+).*$/, 'http://$1');

const lag = new Trend('start_lag', true);
const backlog = new Gauge('backlog');

const mix = arrivals(perSecond, '30s');
export const options = {
  scenarios: {
    // A waiting iteration holds a VU.
    mix: Object.assign(mix, { maxVUs: Number(__ENV.MAX_VUS || 6 * perSecond) }),
    watch: { executor: 'constant-arrival-rate', exec: 'watch', rate: 1, duration: mix.duration, preAllocatedVUs: 1, maxVUs: 5 },
  },
  thresholds: { start_lag: ['p(99)<1500'], 'checks{check:called in time}': ['rate>0.999'] },
};

export default function () {
  const sent = Date.now();
  const made = published();
  if (!made || made.status !== 202 || Math.random() >= sample) return;
  const id = made.json('data.execution_id');
  const seen = http.get(`${stub}/seen/${id}?wait=${patience}`, { tags: { name: 'called' } });
  if (check(seen, { 'called in time': (seen) => seen.status === 200 })) {
    lag.add(Math.max(0, seen.json('first_ms') - sent));
  }
}

export function watch() {
  const figures = http.get(`${base}/metrics`, { tags: { name: 'metrics' } });
  const line = figures.status === 200 && figures.body.match(/^runlater_backlog (\d+)/m);
  if (check(line, { 'the service tells its backlog': Boolean })) backlog.add(Number(line[1]));
}

// Does execution keep up with creation? The published mix, but each immediate task is waited for at the target: what
// was not called WAIT after it was made is a 404, and so an error. A second look, once a second, is at what the service says
// of itself: how many tasks are due and wait.
//
// Needs `runlater target`, which knows the executions it was called for. SAMPLE is the share of the tasks that are waited for.
import http from 'k6/http';
import { check } from 'k6';
import { Gauge, Trend } from 'k6/metrics';
import { arrivals, base, published, target } from './api.js';

const perSecond = Number(__ENV.RATE || 100);
const patience = __ENV.WAIT || '3s';
const sample = Number(__ENV.SAMPLE || 1);
// The target speaks plain HTTP on the port on which it speaks TLS, too.
const stub = target.replace(/^https?:\/\/([^/]+).*$/, 'http://$1');

const lag = new Trend('start_lag', true);
const backlog = new Gauge('backlog');

const mix = arrivals(perSecond, '30s');
export const options = {
  scenarios: {
    // Who waits holds a VU.
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

// Shared by the workloads: addresses of service and target, the three requests of the published load, and the check of
// each response.
import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';

export const base = __ENV.BASE_URL || 'http://127.0.0.1:3300';
// Target of the tasks: a local stub instead of the published public one.
export const target = __ENV.TARGET_URL || 'http://127.0.0.1:3310/get';
// The key that the studies pass to `runlater seed`.
const key = __ENV.API_KEY || 'pk_live_000000000000000000000001.sk_live_00000000000000000000000000000001';

const tasks = new Counter('tasks_created');

function named(name) {
  return { headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }, tags: { name } };
}
const immediate = named('immediate');
const delayed = named('delayed');
const listed = named('list');

// A unique name per task, as published.
function taskName() {
  return `load ${__VU}-${__ITER}-${Math.floor(Math.random() * 1e9)}`;
}

// Creates an immediate task. As published, only accepted ones of these are counted.
export function createImmediate() {
  const body = { name: taskName(), url: target, method: 'GET', retry_attempts: 1, timeout_ms: 10000 };
  const answer = http.post(`${base}/api/v1/tasks`, JSON.stringify(body), immediate);
  const accepted = check(answer, {
    'immediate: 202': (answer) => answer.status === 202,
    'immediate: has an execution': (answer) => answer.status === 202 && Boolean(answer.json('data.execution_id')),
  });
  if (accepted) tasks.add(1);
  return answer;
}

// Creates a delayed task: 5 s, as published.
const delay = __ENV.DELAY || '5s';
export function createDelayed() {
  const body = { name: taskName(), url: target, method: 'GET', delay };
  const answer = http.post(`${base}/api/v1/tasks`, JSON.stringify(body), delayed);
  check(answer, { 'delayed: 202': (answer) => answer.status === 202 });
  return answer;
}

// The first page of the organization's tasks: 50, without parameters.
export function list() {
  const answer = http.get(`${base}/api/v1/tasks`, listed);
  check(answer, { 'list: 200': (answer) => answer.status === 200 });
  return answer;
}

// The published random mix: 70 % immediate tasks, 15 % delayed ones, 15 % lists. Returns the response to
// an immediate one.
export function published() {
  const draw = Math.random();
  if (draw < 0.7) return createImmediate();
  if (draw < 0.85) {
    createDelayed();
  } else {
    list();
  }
  return null;
}

// Open model: a fixed arrival rate. As published, with as many VUs as arrivals per
// second and at most three times as many: responses slower than 3 s on average drop iterations.
// RATE, DURATION, VUS and MAX_VUS change it.
export function arrivals(rate, duration) {
  const perSecond = Number(__ENV.RATE || rate);
  return {
    executor: 'constant-arrival-rate',
    rate: perSecond,
    timeUnit: '1s',
    duration: __ENV.DURATION || duration,
    preAllocatedVUs: Number(__ENV.VUS || perSecond),
    maxVUs: Number(__ENV.MAX_VUS || 3 * perSecond),
    gracefulStop: '30s',
  };
}

// Thresholds of the published script.
export const thresholds = {
  http_req_duration: ['p(95)<2000'],
  http_req_failed: ['rate<0.05'],
};

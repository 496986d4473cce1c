// A scheduler of HTTP calls: clients hand in calls to make now or later, and look at the list of them.
//
// Work arrives at a fixed rate, however long the service takes to accept it. Of 100 requests 70 hand in
// a call to make at once, 15 one to make in 5 s, and 15 read the list.
//
//   knee run job_scheduler.js -e BASE=http://127.0.0.1:4000 -e KEY=pk_live_….sk_live_…
//
// RATE and DURATION are the load, TARGET is what the service is told to call. With SEED the draw is the same
// in every run.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, randomSeed } from 'k6';
import { Counter } from 'k6/metrics';

const base = __ENV.BASE || 'http://127.0.0.1:4000';
const target = __ENV.TARGET || 'https://httpbin.org/get';
const rate = Number(__ENV.RATE || 25);

export const options = {
  scenarios: {
    clients: {
      executor: 'constant-arrival-rate',
      rate,
      timeUnit: '1s',
      duration: __ENV.DURATION || '2m',
      preAllocatedVUs: rate,
      maxVUs: 3 * rate,
    },
  },
  thresholds: {
    http_req_duration: ['p(95)<2000'],
    http_req_failed: ['rate<0.05'],
  },
};

// Calls to make at once that were accepted.
const tasksCreated = new Counter('tasks_created');

const headers = {
  Authorization: `Bearer ${__ENV.KEY || 'pk_live_test.sk_live_test'}`,
  'Content-Type': 'application/json',
};

function create(name, task) {
  return http.post(`${base}/api/v1/tasks`, JSON.stringify(task), { headers, tags: { name } });
}

function createNow() {
  const response = create('create now', {
    name: `now ${exec.scenario.iterationInTest} of ${Date.now()}`,
    url: target,
    method: 'GET',
    retry_attempts: 1,
    timeout_ms: 10000,
  });
  const accepted = check(response, {
    'now: accepted': (r) => r.status === 202,
    'now: has an execution': (r) => r.status === 202 && Boolean(r.json('data.execution_id')),
  });
  if (accepted) {
    tasksCreated.add(1);
  }
}

function createLater() {
  const response = create('create later', {
    name: `later ${exec.scenario.iterationInTest} of ${Date.now()}`,
    url: target,
    method: 'GET',
    delay: '5s',
  });
  check(response, { 'later: accepted': (r) => r.status === 202 });
}

function list() {
  const response = http.get(`${base}/api/v1/tasks`, { headers, tags: { name: 'list' } });
  check(response, { 'list: answered': (r) => r.status === 200 });
}

export default function () {
  if (__ENV.SEED) {
    // One draw for each iteration, whichever VU makes it.
    randomSeed(Number(__ENV.SEED) + exec.scenario.iterationInTest);
  }
  const draw = Math.random();
  if (draw < 0.7) {
    createNow();
  } else if (draw < 0.85) {
    createLater();
  } else {
    list();
  }
}

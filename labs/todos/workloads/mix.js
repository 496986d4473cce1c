// What the workloads share: where the service is, the published mix of 6 lists to 4 new todos, and what a good answer is.
import http from 'k6/http';
import { check } from 'k6';

export const base = __ENV.BASE_URL || 'http://127.0.0.1:3200';
const json = { headers: { 'Content-Type': 'application/json' }, tags: { name: 'POST /todos/' } };
// With it an item with an id of four digits takes 136 bytes, as published.
const body = JSON.stringify({ name: 'United todo', description: 'to be done one' });

// So many users who wait for their answers and never pause. VUS and DURATION change both.
export function users(vus, duration) {
  return {
    scenarios: {
      users: {
        executor: 'constant-vus',
        vus: Number(__ENV.VUS || vus),
        duration: __ENV.DURATION || duration,
        gracefulStop: '10s',
      },
    },
  };
}

export function list() {
  const answer = http.get(`${base}/todos/`, { tags: { name: 'GET /todos/' } });
  check(answer, { 'a list': (answer) => answer.status === 200 && answer.body.startsWith('[{') });
  return answer;
}

export function make() {
  const answer = http.post(`${base}/todos/`, body, json);
  check(answer, { 'made': (answer) => answer.status === 200 });
  return answer;
}

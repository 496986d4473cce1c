// What the workloads share: where the board is, the published closed loop, and what a good answer is.
import http from 'k6/http';
import { check } from 'k6';

export const base = __ENV.BASE_URL || 'http://127.0.0.1:3000';

// The published load: users who never pause. VUS and DURATION change it, for a sweep over connections.
export function closed() {
  return {
    scenarios: {
      users: {
        executor: 'constant-vus',
        vus: Number(__ENV.VUS || 20),
        duration: __ENV.DURATION || '10s',
        gracefulStop: '10s',
      },
    },
  };
}

// A page that is whole: by its status alone, one that was cut off would count as good.
export function whole(answer) {
  return answer.status === 200 && answer.body.trimEnd().endsWith('</html>');
}

export function act(action) {
  const answer = http.post(`${base}/benchmarking/${action}`, null, { tags: { name: action } });
  check(answer, { 'a whole page': whole });
}

// requests at least: 5
import http from 'k6/http';
export const options = {
  scenarios: {
    bad: { executor: 'constant-vus', vus: 1, duration: '1s', exec: 'bad', gracefulStop: '0s' },
    good: { executor: 'constant-vus', vus: 1, duration: '1s', exec: 'good', gracefulStop: '0s' },
  },
};
export function bad() { for (;;) {} }
export function good() { http.get(__ENV.BASE + '/'); }

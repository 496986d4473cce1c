import http from 'k6/http';
import { check, group, sleep } from 'k6';

export const options = {
  scenarios: {
    visitors: { executor: 'ramping-vus', startVUs: 1, stages: [{ duration: '2s', target: 5 }], gracefulRampDown: '1s' },
  },
  thresholds: { checks: ['rate>0.99'], http_req_failed: ['rate<0.01'] },
};

export default function () {
  group('front page', () => {
    const response = http.get(__ENV.URL, { tags: { name: 'front' } });
    check(response, { 'status is 200': (r) => r.status === 200 });
  });
  sleep(0.1);
}

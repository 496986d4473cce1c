import http from 'k6/http';

export const options = {
  scenarios: {
    gate: { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: '3s', preAllocatedVUs: 20 },
  },
  thresholds: { http_req_failed: ['rate<0.01'], http_req_duration: ['p(90)<500'] },
};

export default () => http.get(__ENV.URL);

// The published mix as a closed model of 50 users without pauses: what is the throughput? VUS and DURATION change it.
import { published } from './api.js';

export const options = {
  scenarios: {
    users: {
      executor: 'constant-vus',
      vus: Number(__ENV.VUS || 50),
      duration: __ENV.DURATION || '30s',
      gracefulStop: '10s',
    },
  },
};

export default function () {
  published();
}

// The published mix by 50 users who wait for their answers and do not pause: how much can be had? VUS and DURATION change it.
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

// row: executors.shared-iterations, executors.per-vu-iterations, built-in metrics, thresholds.filters
import { sleep } from 'k6';
const none = { gracefulStop: '0s', tags: { own: 'yes' } };
export const options = {
  tags: { all: 'yes' },
  scenarios: {
    shared: { executor: 'shared-iterations', vus: 2, iterations: 10, maxDuration: '0.5s', ...none },
    each: { executor: 'per-vu-iterations', vus: 2, iterations: 5, maxDuration: '0.5s', ...none },
  },
  thresholds: {
    'dropped_iterations{scenario:shared}': ['count==6'], 'dropped_iterations{scenario:each}': ['count==6'],
    'dropped_iterations{own:yes}': ['count==0'], 'dropped_iterations{all:yes}': ['count==12'],
  },
};
export default function () { sleep(0.3); }

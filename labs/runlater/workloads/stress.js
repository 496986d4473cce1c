// The published stress test: the same mix at 1,000 arrivals/s for 30 s. Its thresholds are those of the other
// runs: the published run breaks both.
import { arrivals, published, thresholds } from './api.js';

export const options = { scenarios: { stress: arrivals(1000, '30s') }, thresholds };

export default function () {
  published();
}

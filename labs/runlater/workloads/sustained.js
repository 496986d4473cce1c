// The published long run: the same mix at 250 arrivals/s for 10 minutes, while tasks accumulate.
import { arrivals, published, thresholds } from './api.js';

export const options = { scenarios: { sustained: arrivals(250, '10m') }, thresholds };

export default function () {
  published();
}

// The published load: 70 % immediate tasks, 15 % delayed ones, 15 % lists, 25/s for two minutes unless RATE and
// DURATION say otherwise. The published bursts are 30 s at a RATE of 50 to 1000.
import { arrivals, published, thresholds } from './api.js';

export const options = { scenarios: { mix: arrivals(25, '2m') }, thresholds };

export default function () {
  published();
}

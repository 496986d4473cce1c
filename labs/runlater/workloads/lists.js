// Lists only, 10/s for 30 s: what does a page of an organization with many tasks cost?
import { arrivals, list, thresholds } from './api.js';

export const options = { scenarios: { lists: arrivals(10, '30s') }, thresholds };

export default function () {
  list();
}

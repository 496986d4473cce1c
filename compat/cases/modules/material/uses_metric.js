import { Metric, Another } from 'k6/metrics';
export const again = Another;
export { Metric };

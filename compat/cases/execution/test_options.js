// row: exec.test.options
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'shared-iterations', vus: 1, iterations: 1, maxDuration: '5s' } }, thresholds: { iterations: ['count>0'] }, userAgent: 'me' };
export default function () {
  const o = exec.test.options;
  console.log(o.scenarios.s.executor, o.scenarios.s.vus, o.scenarios.s.maxDuration, JSON.stringify(o.thresholds), o.userAgent, o.paused, JSON.stringify(o.summaryTrendStats));
}

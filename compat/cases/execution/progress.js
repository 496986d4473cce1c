// row: exec.scenario
// Each scenario has a progress of its own.
import exec from 'k6/execution';
export const options = { scenarios: {
  few: { executor: 'shared-iterations', exec: 'few', vus: 1, iterations: 4 },
  more: { executor: 'per-vu-iterations', exec: 'more', vus: 1, iterations: 8, startTime: '0.3s' },
} };
export function few() { console.log(exec.scenario.name, exec.scenario.progress, exec.scenario.iterationInTest, exec.scenario.iterationInInstance, exec.vu.iterationInScenario); }
export function more() { console.log(exec.scenario.name, exec.scenario.progress, exec.scenario.iterationInTest, exec.scenario.iterationInInstance, exec.vu.iterationInScenario); }

// row: environment.K6_ITERATIONS
// env: K6_ITERATIONS=2
export const options = { iterations: 5 };
import exec from 'k6/execution';
export default function () { const s = exec.test.options.scenarios[exec.scenario.name]; console.log(exec.scenario.executor, s.vus, s.iterations, s.duration, JSON.stringify(s.stages)); }

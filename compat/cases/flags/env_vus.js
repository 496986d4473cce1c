// row: environment.K6_VUS
// env: K6_VUS=2
// env: K6_ITERATIONS=2
// lines: any
import exec from 'k6/execution';
export default function () { const s = exec.test.options.scenarios[exec.scenario.name]; console.log(exec.scenario.executor, s.vus, s.iterations, s.duration, JSON.stringify(s.stages)); }

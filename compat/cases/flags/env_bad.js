// row: environment.K6_VUS, exit codes.104
// env: K6_VUS=many
import exec from 'k6/execution';
export default function () { const s = exec.test.options.scenarios[exec.scenario.name]; console.log(exec.scenario.executor, s.vus, s.iterations, s.duration, JSON.stringify(s.stages)); }

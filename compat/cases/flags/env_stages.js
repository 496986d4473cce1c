// row: environment.K6_STAGES
// env: K6_STAGES=200ms:1,100ms:0
// lines: set
// loose: iterations
import { sleep } from 'k6';
import exec from 'k6/execution';
export default function () { const s = exec.test.options.scenarios[exec.scenario.name]; sleep(0.1); console.log(exec.scenario.executor, s.vus, s.iterations, s.duration, JSON.stringify(s.stages)); }

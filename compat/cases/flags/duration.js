// row: flags.--duration
// args: -u 1 -d 1s
// lines: set
// loose: iterations
import { sleep } from 'k6';
import exec from 'k6/execution';
export default function () { const s = exec.test.options.scenarios[exec.scenario.name]; sleep(0.1); console.log(exec.scenario.executor, s.vus, s.iterations, s.duration, JSON.stringify(s.stages)); }

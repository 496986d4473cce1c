// row: flags.--vus, flags.--iterations
// args: --vus 2 --iterations 4
// lines: any
import exec from 'k6/execution';
export default function () { const s = exec.test.options.scenarios[exec.scenario.name]; console.log(exec.scenario.executor, s.vus, s.iterations, s.duration, JSON.stringify(s.stages)); }

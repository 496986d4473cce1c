// row: options.scenarios, flags.--iterations
// args: -i 2
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'per-vu-iterations', vus: 3, iterations: 5 } } };
export default function () { console.log(exec.scenario.name, exec.scenario.executor); }

// row: executors.per-vu-iterations, executors.shared-iterations
// lines: any
import exec from 'k6/execution';
export const options = { scenarios: { a: { executor: 'per-vu-iterations' }, b: { executor: 'shared-iterations' } } };
export default function () { console.log(exec.scenario.name); }

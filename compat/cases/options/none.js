// row: options.none
import exec from 'k6/execution';
export default function () { console.log(exec.scenario.name, exec.scenario.executor); }

// row: options.duration, options.iterations
import exec from 'k6/execution';
export const options = { vus: 1, duration: '10s', iterations: 3 };
export default function () { console.log(exec.scenario.executor, exec.test.options.scenarios.default.maxDuration); }

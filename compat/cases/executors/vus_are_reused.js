// row: executors.startTime, exec.vu, __VU, __ITER
// A VU that has done its work for one scenario works for the next, with variables of that scenario.
import exec from 'k6/execution';
const one = (name, startTime) => ({ executor: 'per-vu-iterations', vus: 1, iterations: 2, startTime, maxDuration: '1s', gracefulStop: '0s', env: { WHO: name }, tags: { who: name } });
export const options = { scenarios: { a: one('a', '0s'), b: one('b', '1s') } };
let calls = 0;
export default function () {
  calls += 1;
  console.log(exec.scenario.name, __ENV.WHO, __ENV.KEPT, exec.vu.idInTest, exec.vu.idInInstance, __VU, __ITER, calls, exec.vu.iterationInInstance, exec.vu.iterationInScenario, exec.vu.tags.who);
  __ENV.KEPT = exec.scenario.name;
}

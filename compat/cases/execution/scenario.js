// row: exec.scenario
import exec from 'k6/execution';
export const options = { scenarios: { mine: { executor: 'per-vu-iterations', iterations: 2 } } };
export default function () {
  const { name, executor, iterationInInstance, iterationInTest, startTime, progress } = exec.scenario;
  console.log(name, executor, iterationInInstance, iterationInTest, Math.abs(Date.now() - startTime) < 60000, progress >= 0 && progress <= 1);
}

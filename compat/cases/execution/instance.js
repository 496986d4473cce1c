// row: exec.instance
// args: -i 2
import exec from 'k6/execution';
export default function () {
  const { iterationsCompleted, iterationsInterrupted, vusActive, vusInitialized, currentTestRunDuration } = exec.instance;
  console.log(iterationsCompleted, iterationsInterrupted, vusActive, vusInitialized, currentTestRunDuration >= 0);
}

// row: exec.vu
// args: -u 1 -i 2
import exec from 'k6/execution';
export default function () {
  const { idInInstance, idInTest, iterationInInstance, iterationInScenario } = exec.vu;
  console.log(idInInstance, idInTest, iterationInInstance, iterationInScenario);
}

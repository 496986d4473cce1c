// row: flags.--execution-segment, flags.--execution-segment-sequence
// args: --execution-segment 1/3:2/3 --execution-segment-sequence 0,1/3,2/3,1
// lines: set
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'per-vu-iterations', vus: 7, iterations: 2 } } };
export default function () {
  const { vu, scenario } = exec;
  console.log(vu.idInTest, vu.idInInstance, __VU, vu.iterationInScenario, scenario.name);
}

// row: options.executionSegment, options.executionSegmentSequence
// lines: set
import exec from 'k6/execution';
export const options = {
  executionSegment: '20%:0.7',
  executionSegmentSequence: '0,1/5,7/10',
  scenarios: { s: { executor: 'shared-iterations', vus: 6, iterations: 31 } },
};
export default function () { console.log(exec.scenario.iterationInTest, exec.scenario.iterationInInstance); }

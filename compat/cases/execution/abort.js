// row: exec.test.abort, exit codes.108
// args: -i 5
import exec from 'k6/execution';
export default function () {
  console.log('iteration', exec.scenario.iterationInTest);
  if (exec.scenario.iterationInTest === 1) exec.test.abort('that is enough');
  console.log('after');
}
export function teardown() { console.log('teardown runs'); }

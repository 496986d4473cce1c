// row: exec.test.fail, exit codes.110
// args: -i 2
import exec from 'k6/execution';
export default function () {
  exec.test.fail('marked');
  console.log('goes on');
}

// row: k6.fail
// args: -i 2
import { fail } from 'k6';
export default function () {
  if (__ITER === 0) fail('enough');
  console.log('second');
  fail();
}

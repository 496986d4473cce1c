// row: k6.check
// args: -i 2
import { check } from 'k6';
export default function () {
  check(1, { before: () => true, throws: () => { throw new Error('in a check'); }, after: () => true });
  console.log('not reached');
}

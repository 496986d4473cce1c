// row: k6.check
import { check } from 'k6';
export default function () {
  check(1, { 'with :: colons': () => true });
  console.log('not reached');
}

// exit: 0
// requests: 
// passed: 4
// failed: 0
// iterations: 2
import { check, fail, group } from 'k6';
export const options = { iterations: 2 };
export default function () {
  const value = group('outer', () => group('inner', () => { check(1, { inside: true }); return 7; }));
  check(value, { returned: (v) => v === 7 });
  if (__ITER === 1) fail('enough');
}

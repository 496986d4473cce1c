// row: k6.group
import { check, group } from 'k6';
export default function () {
  const value = group('outer', () => {
    check(1, { outside: () => true });
    return group('inner', () => { check(1, { inside: () => true }); return 7; });
  });
  check(value, { returned: (v) => v === 7 });
  group('outer', () => check(1, { outside: () => false }));
}

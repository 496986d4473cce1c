// row: k6.check, k6.group, k6.sleep
import k6 from 'k6';
import * as all from 'k6';
export default function () {
  k6.check(1, { one: () => true });
  all.group('g', () => all.check(1, { two: () => true }));
  console.log(Object.keys(k6).sort().join());
}

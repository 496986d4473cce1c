// row: k6.check
import { check } from 'k6';
export const options = { thresholds: { 'checks{kind:a}': ['rate==1'], 'checks{kind:b}': ['rate==0'], 'checks{check:same}': ['rate==0.5'] } };
export default function () {
  check(1, { same: () => true }, { kind: 'a' });
  check(1, { same: () => false }, { kind: 'b' });
}

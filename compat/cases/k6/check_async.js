// row: k6.check
import { check } from 'k6';
export default function () {
  console.log(check(1, { promise: async () => false }));
}

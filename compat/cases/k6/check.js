// row: k6.check
import { check } from 'k6';
export default function () {
  console.log(check(1, { yes: (v) => v === 1 }), check(1, { no: (v) => v === 2, yes: () => true }));
  console.log(check('x', { truthy: () => 'text', falsy: () => 0, 'not a function': true, 'nor this': 0 }));
  console.log(check(1, {}), check(null, { null: (v) => v === null }));
}

// row: modules.local
import hello, { value, bump, counter, Shape } from './material/lib.js';
import * as all from './material/lib.js';
export default function () {
  console.log(hello('x'), value, bump(), counter, all.counter, Shape.of().area, Object.keys(all).sort().join());
}

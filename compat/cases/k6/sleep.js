// row: k6.sleep
import { check, sleep } from 'k6';
export default function () {
  const begun = Date.now();
  sleep(0.1); sleep('0.05'); sleep(0); sleep(-1);
  const took = Date.now() - begun;
  check(took, { 'at least what was asked': (t) => t >= 150, 'and not much more': (t) => t < 2000 });
}

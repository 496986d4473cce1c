// row: k6.randomSeed
import { randomSeed } from 'k6';
export default function () {
  randomSeed(42);
  const first = [Math.random(), Math.random()];
  randomSeed(42);
  console.log(first[0] === Math.random(), first[1] === Math.random(), first[0] !== first[1]);
}

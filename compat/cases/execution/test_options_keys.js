// row: exec.test.options
import exec from 'k6/execution';
export const options = { vus: 1, iterations: 1 };
export default function () {
  console.log(Object.keys(exec.test.options).sort().join());
}

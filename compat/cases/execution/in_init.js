// row: exec.vu, exec.scenario
import exec, { vu, scenario, instance, test } from 'k6/execution';
let refused = 0;
for (const read of [() => exec.scenario.name, () => exec.instance.vusActive, () => exec.test.options]) {
  try { read(); } catch (e) { refused++; }
}
const first = exec.vu.idInTest;
export default function () { console.log(refused, first, vu.idInTest, scenario.name, typeof instance, typeof test); }

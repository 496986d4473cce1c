// row: exec.vu, exec.scenario
import exec, { vu, scenario, instance, test } from 'k6/execution';
let refused = 0;
for (const read of [() => exec.scenario.name, () => exec.instance.vusActive, () => exec.scenario.iterationInTest]) {
  try { read(); } catch (e) { refused++; }
}
export default function () { console.log(refused, vu.idInTest, scenario.name, typeof instance, typeof test); }

// row: exec.vu, __VU
// lines: any
import exec from 'k6/execution';
export const options = { scenarios: { s: { executor: 'per-vu-iterations', vus: 3, iterations: 2 } } };
export default function () { console.log(__VU === exec.vu.idInTest, __ITER === exec.vu.iterationInInstance, __ITER); }

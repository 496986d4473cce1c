// row: executors.startTime, exec.vu
import exec from 'k6/execution';
export const options = { scenarios: { a: { executor: 'shared-iterations', exec: 'a' }, b: { executor: 'shared-iterations', startTime: '300ms', gracefulStop: '0s', maxDuration: '5s', exec: 'b' } } };
export function a() { console.log('a', exec.vu.idInTest > 0, exec.vu.iterationInScenario); }
export function b() { console.log('b', exec.vu.idInTest > 0, exec.vu.iterationInScenario); }

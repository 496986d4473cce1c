// exit: 0
// requests: 
// passed: 20
// failed: 0
// iterations: 4
import { SharedArray } from 'k6/data';
import { check } from 'k6';
const users = new SharedArray('users', () => [{ n: 1 }, { n: 2 }, { n: 3 }]);
export const options = { vus: 2, iterations: 4 };
export default function () {
  check(users, { length: (u) => u.length === 3, element: (u) => u[1].n === 2, iterates: (u) => [...u].length === 3, maps: (u) => u.map((x) => x.n).join() === '1,2,3', beyond: (u) => u[3] === undefined });
}

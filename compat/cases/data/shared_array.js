// row: k6/data.SharedArray
// args: -u 2 -i 4
// lines: any
import { SharedArray } from 'k6/data';
const users = new SharedArray('users', () => { return [{ n: 1 }, { n: 2 }, { n: 3 }]; });
export default function () {
  console.log(users.length, users[1].n, [...users].length, users.map((x) => x.n).join(), users[3], users.filter((x) => x.n > 1).length);
}

// row: k6/data.SharedArray
import { SharedArray } from 'k6/data';
const list = new SharedArray('list', () => [3, 1, 2]);
export default function () {
  console.log(list.indexOf(1), list.includes(2), list.join('-'), list.slice(1).length, list.find((x) => x > 1), list.reduce((a, b) => a + b, 0), list.at ? list.at(-1) : 'none');
  const keys = []; for (const k in list) keys.push(k); console.log(keys.join());
  const values = []; for (const v of list) values.push(v); console.log(values.join());
  list.forEach((v, i) => console.log(i, v));
  console.log(Array.isArray(list), typeof list, list instanceof Array, Object.keys(list).join(), 1 in list, list['1'], list[-1], list['x']);
  console.log(JSON.stringify([...list].sort()));
}

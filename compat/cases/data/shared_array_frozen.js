// row: k6/data.SharedArray
'use strict';
import { SharedArray } from 'k6/data';
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
const list = new SharedArray('list', () => [{ a: { b: 1 } }, 2, 'three', null]);
export default function () {
  const attempt = (name, change) => { try { change(); console.log(name, 'silent'); } catch (e) { console.log(name, 'throws'); } };
  attempt('element', () => { list[0] = 5; });
  attempt('field', () => { list[0].a = 5; });
  attempt('deep', () => { list[0].a.b = 5; });
  attempt('push', () => { list.push(1); });
  attempt('length', () => { list.length = 0; });
  console.log(sorted(list), list.length);
}

// row: modules.require
import nothing, { missing, again as other } from './material/neither.js';
import * as all from './material/neither.js';
import { twice, absent } from './material/common.js';
export default function () {
  console.log(typeof missing, typeof other, JSON.stringify(nothing), typeof twice, typeof absent, typeof all.more);
}

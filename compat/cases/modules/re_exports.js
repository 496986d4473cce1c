// row: modules.local
import { greet, value, renamed, all, bump } from './material/again.js';
export default function () { console.log(greet('y'), value, renamed, all.value, typeof bump); }

// row: modules.local
import { nothing } from './material/lib.js';
export default function () { console.log(typeof nothing); }

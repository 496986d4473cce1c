// row: modules.local
import { a } from './material/a.js';
export default function () { console.log(a(0), a(1), a(2)); }

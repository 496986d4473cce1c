// row: modules.local, globals.open
import { text, sum } from './material/deep/inner.js';
export default function () { console.log(text, sum); }

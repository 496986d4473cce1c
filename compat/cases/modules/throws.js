// row: modules.local, exit codes.107
import './material/throws.js';
export default function () {}

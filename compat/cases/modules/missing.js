// row: modules.local, exit codes.107
import './material/nowhere.js';
export default function () {}

// row: flags.SCRIPT
import './material/nowhere.js';
export default function () {}

// row: modules.local
import x from 'k6/nonsense';
export default function () {}

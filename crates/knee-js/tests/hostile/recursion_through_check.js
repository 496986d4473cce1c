// says: Maximum call stack size exceeded
// iterations: 1
import { check } from 'k6';
export default function () { const f = () => check(1, { deep: f }); f(); }

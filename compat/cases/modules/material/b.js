import { a } from './a.js';
export function b(n) { return n === 0 ? 'b' : a(n - 1); }

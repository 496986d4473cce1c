import { b } from './b.js';
export function a(n) { return n === 0 ? 'a' : b(n - 1); }

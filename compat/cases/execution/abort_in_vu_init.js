// row: exec.test.abort, exit codes.108
import exec from 'k6/execution';
if (__VU === 2) { try { exec.test.abort('while VUs are made'); } finally { console.log('finally'); } }
export const options = { vus: 2, iterations: 4 };
export default function () { console.log('not reached'); }
export function handleSummary() { console.log('summary'); return {}; }

// row: life cycle.default, exit codes.107
if (__VU === 2) throw new Error('only in this VU');
export const options = { vus: 2, iterations: 2 };
export default function () { console.log('not reached'); }

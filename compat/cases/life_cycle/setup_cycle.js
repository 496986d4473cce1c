// row: life cycle.setup
export function setup() { const a = { b: {} }; a.b.c = a; return a; }
export default function () { console.log('not reached'); }

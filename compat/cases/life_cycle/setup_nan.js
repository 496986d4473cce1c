// row: life cycle.setup
export function setup() { return { a: [1, 0 / 0] }; }
export default function () { console.log('not reached'); }

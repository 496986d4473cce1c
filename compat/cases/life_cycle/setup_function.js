// row: life cycle.setup
export function setup() { return { f: () => 1 }; }
export default function () { console.log('not reached'); }

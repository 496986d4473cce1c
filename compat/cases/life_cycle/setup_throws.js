// row: life cycle.setup, exit codes.107
export function setup() { throw new Error('no setup'); }
export default function () { console.log('not reached'); }
export function teardown() { console.log('teardown'); }

// row: life cycle.teardown, exit codes.107
export default function () { console.log('runs'); }
export function teardown() { throw new Error('no teardown'); }

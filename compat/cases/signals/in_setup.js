// row: exit codes.105
// interrupt: setup
export function setup() { console.log('setup'); for (const begun = Date.now(); Date.now() - begun < 5000; ) { /* busy */ } }
export default function () { console.log('not reached either'); }
export function teardown() { console.log('teardown'); }

// row: __VU, __ITER
// args: -i 2
const atInit = typeof __ITER;
export function setup() { console.log('setup', __VU, typeof __ITER); }
export default function () { console.log(atInit, __VU, __ITER); }
export function teardown() { console.log('teardown', __VU); }

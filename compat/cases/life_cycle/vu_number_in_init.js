// row: __VU, life cycle.default
// lines: any
const early = __VU;
export const options = { scenarios: { a: { executor: 'per-vu-iterations', vus: 3, iterations: 1 } } };
export function setup() { return { setup: early }; }
export default function (data) { console.log(early === __VU, __VU, data.setup); }
export function teardown() { console.log('teardown', early); }

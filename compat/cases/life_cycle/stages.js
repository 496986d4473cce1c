// row: life cycle.setup, life cycle.teardown, life cycle.default
// args: -i 2
const sorted = (v) => JSON.stringify(v, (k, x) => (x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort()) : x));
export function setup() { console.log('setup'); return { token: 'x', list: [1, { deep: true }], none: null }; }
export default function (data) { console.log('default', sorted(data)); data.token = 'changed'; }
export function teardown(data) { console.log('teardown', sorted(data)); }

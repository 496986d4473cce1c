// row: life cycle.setup, life cycle.teardown, life cycle.default
// args: -i 2
export function setup() { console.log('setup'); return { token: 'x', list: [1, { deep: true }], none: null }; }
export default function (data) { console.log('default', JSON.stringify(data)); data.token = 'changed'; }
export function teardown(data) { console.log('teardown', JSON.stringify(data)); }

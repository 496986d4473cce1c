// row: flags.--no-setup, flags.--no-teardown
// args: --no-setup --no-teardown
export function setup() { console.log('setup'); return 1; }
export default function (data) { console.log(data); }
export function teardown(data) { console.log('teardown'); }

// row: options.noSetup, options.noTeardown
export const options = { noSetup: true, noTeardown: true };
export function setup() { console.log('setup'); return 1; }
export default function (data) { console.log(data); }
export function teardown(data) { console.log('teardown'); }

// row: life cycle.setup
export function setup() {}
export default function (data) { console.log(data, arguments.length); }
export function teardown(data) { console.log(data); }

// row: life cycle.setup
export function setup() { return null; }
export default function (data) { console.log(data, arguments.length); }

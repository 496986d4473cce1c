// row: life cycle.setup, life cycle.async
export async function setup() { await new Promise((r) => setTimeout(r, 5)); return 7; }
export default function (data) { console.log(data); }
export async function teardown(data) { await null; console.log('end', data); }

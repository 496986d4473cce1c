// row: exit codes.104, options.scenarios
export const options = { scenarios: { s: { vus: 1 } } };
export default function () { console.log('not reached'); }

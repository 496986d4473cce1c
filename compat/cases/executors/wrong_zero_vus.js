// row: exit codes.104, options.scenarios
export const options = { scenarios: { s: { executor: 'per-vu-iterations', vus: 0 } } };
export default function () { console.log('not reached'); }

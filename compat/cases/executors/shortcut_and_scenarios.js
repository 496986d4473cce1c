// row: options.scenarios, exit codes.104
export const options = { vus: 2, iterations: 2, scenarios: { s: { executor: 'shared-iterations' } } };
export default function () { console.log('x'); }

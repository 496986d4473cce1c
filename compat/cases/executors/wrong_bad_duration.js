// row: exit codes.104, options.scenarios
export const options = { scenarios: { s: { executor: 'constant-vus', duration: 'soon' } } };
export default function () { console.log('not reached'); }

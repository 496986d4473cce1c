// row: exit codes.104, options.scenarios
export const options = { scenarios: { 'has spaces': { executor: 'shared-iterations' } } };
export default function () { console.log('not reached'); }

// row: exit codes.104, options.scenarios
export const options = { scenarios: { s: { executor: 'no-such' } } };
export default function () { console.log('not reached'); }

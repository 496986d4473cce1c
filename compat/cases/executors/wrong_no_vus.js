// row: exit codes.104, options.scenarios
export const options = { scenarios: { s: { executor: 'constant-arrival-rate', duration: '1s', rate: 1 } } };
export default function () { console.log('not reached'); }

// row: life cycle.exec
export const options = { scenarios: { a: { executor: 'shared-iterations', exec: 'first' }, b: { executor: 'shared-iterations', exec: 'second', startTime: '300ms' } } };
export function first() { console.log('first'); }
export function second() { console.log('second'); }

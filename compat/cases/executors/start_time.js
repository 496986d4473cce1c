// row: executors.startTime
export const options = { scenarios: { late: { executor: 'shared-iterations', startTime: '300ms', exec: 'late' }, soon: { executor: 'shared-iterations', exec: 'soon' } } };
export function late() { console.log('late'); }
export function soon() { console.log('soon'); }

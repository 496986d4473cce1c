// row: life cycle.exec, exit codes.104
export const options = { scenarios: { a: { executor: 'shared-iterations', exec: 'nowhere' } } };
export default function () {}

// row: life cycle.handleSummary
export default function () { console.log('runs'); }
export function handleSummary() { throw new Error('in the summary'); }

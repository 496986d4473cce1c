// row: thresholds.counter, exit codes.99
export const options = { thresholds: { iterations: ['count>5'] } };
export default function () { throw new Error('boom'); }

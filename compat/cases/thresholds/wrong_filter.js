// row: thresholds.errors
export const options = { thresholds: { 'iterations{a}': ['count>0'] } };
export default function () {}

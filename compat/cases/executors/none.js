// row: options.scenarios
export const options = { scenarios: {} };
export default function () { console.log('runs'); }

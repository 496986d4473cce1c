// row: options.paused
export const options = { paused: false };
export default function () { console.log('runs'); }

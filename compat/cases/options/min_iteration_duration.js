// row: options.minIterationDuration
// args: -i 2
let last = 0;
export const options = { minIterationDuration: '150ms' };
export default function () { const now = Date.now(); console.log(last === 0 || now - last >= 140); last = now; }

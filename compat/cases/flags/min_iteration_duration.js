// row: flags.--min-iteration-duration
// args: -i 2 --min-iteration-duration 150ms
let last = 0;
export default function () { const now = Date.now(); console.log(last === 0 || now - last >= 140); last = now; }

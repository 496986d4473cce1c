// says: out of memory
// iterations: 1
export default function () { const a = []; for (;;) a.push(new Array(10000).fill(1)); }

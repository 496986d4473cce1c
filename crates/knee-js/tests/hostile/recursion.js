// says: Maximum call stack size exceeded
// iterations: 1
export default function () { const f = (n) => f(n + 1) + 1; f(0); }

// says: Maximum call stack size exceeded
// iterations: 1
export default function () { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a); }

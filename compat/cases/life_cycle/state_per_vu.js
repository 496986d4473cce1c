// row: life cycle.default, __ITER
// args: -i 3
let count = 0;
export default function () { count++; globalThis.mine = (globalThis.mine || 0) + 1; console.log(count, globalThis.mine, __ITER); }

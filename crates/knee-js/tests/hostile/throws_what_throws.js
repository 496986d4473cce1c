// iterations: 1
export default function () { throw { toString() { throw 1; }, toJSON() { throw 2; }, get stack() { throw 3; } }; }

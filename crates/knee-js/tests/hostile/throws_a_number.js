// says: 5
// iterations: 1
export default function () { throw 5; }

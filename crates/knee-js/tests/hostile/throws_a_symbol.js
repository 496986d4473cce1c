// says: a value that cannot be shown
// iterations: 1
export default function () { throw Symbol('x'); }

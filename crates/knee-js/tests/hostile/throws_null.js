// says: null
// iterations: 1
export default function () { throw null; }

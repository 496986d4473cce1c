// says: Error
// iterations: 1
export default function () { new ArrayBuffer(1e12); }

// says: InternalError
// iterations: 1
export default function () { let s = 'x'; for (;;) s += s; }

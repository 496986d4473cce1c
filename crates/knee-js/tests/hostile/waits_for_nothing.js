// says: can never settle
// iterations: 1
export default async function () { await new Promise(() => {}); }

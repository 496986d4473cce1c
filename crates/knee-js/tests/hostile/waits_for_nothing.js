// says: can never be settled
// iterations: 1
export default async function () { await new Promise(() => {}); }

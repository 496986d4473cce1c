// row: modules.import.meta.resolve
const where = import.meta.resolve('./material/lib.js');
export default function () { console.log(where.startsWith('file:///'), where.endsWith('/modules/material/lib.js')); }

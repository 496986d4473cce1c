// row: exit codes.107
throw new Error('in init');
export default function () {}

// row: exit codes.104, options.vus
export const options = { vus: 'many' };
export default function () {}

// row: exit codes.104, options.vus
export const options = { vus: -1, iterations: 1 };
export default function () {}

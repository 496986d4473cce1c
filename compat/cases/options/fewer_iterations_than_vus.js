// row: exit codes.104, options.iterations
export const options = { vus: 5, iterations: 2 };
export default function () {}

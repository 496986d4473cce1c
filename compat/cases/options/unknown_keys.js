// row: options.unknown keys
export const options = { vus: 1, iterations: 1, tls: { a: 1 }, nonsense: 'x', ext: { loadimpact: { name: 'n' } } };
export default function () { console.log('runs'); }

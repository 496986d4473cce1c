export const options = { scenarios: { bad: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };
export default async function () { const again = () => Promise.resolve().then(again); await again(); }

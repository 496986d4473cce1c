// iterations: 0
export const options = { scenarios: { bad: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };
export default function () { for (;;) { try { for (;;) {} } catch (e) {} finally { for (;;) {} } } }

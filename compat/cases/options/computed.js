// row: options.computed
// env: N=3
const common = { vus: 1 };
function make(extra) { return Object.assign({}, common, extra); }
export const options = make({ iterations: Number(__ENV.N) });
options.tags = { late: 'yes' };
options.thresholds = { 'iterations{late:yes}': ['count==3'] };
export default function () {}

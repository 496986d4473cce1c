// row: k6/x/sse
import sse from 'k6/x/sse';
sse.open(`${__ENV.BASE}/sse/count/1`, () => {});
export default function () {}

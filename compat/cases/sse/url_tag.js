// row: k6/x/sse
import sse from 'k6/x/sse';
export const options = {
  thresholds: {
    [`http_reqs{url:${__ENV.BASE}/sse/count/2?a=b}`]: ['count==1'],
    [`sse_event{url:${__ENV.BASE}/sse/count/2?a=b}`]: ['count==2'],
  },
};
export default function () { sse.open(`${__ENV.BASE}/sse/count/2?a=b`, () => {}); }

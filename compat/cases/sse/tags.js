// row: k6/x/sse
import sse from 'k6/x/sse';
import exec from 'k6/execution';
import { group } from 'k6';
export const options = {
  thresholds: {
    'http_reqs{own:1}': ['count==1'], 'sse_event{own:1}': ['count==3'], 'sse_event{vu:7}': ['count==5'],
    'http_reqs{status:200}': ['count==2'], 'http_req_duration{group:::inner}': ['count==1'],
    'http_req_sending{own:1}': ['count==2'], 'http_reqs{name:a}': ['count==0'], 'http_req_failed': ['rate==0'],
    'http_reqs{method:GET}': ['count==0'],
  },
};
export default function () {
  exec.vu.tags.vu = 7;
  sse.open(`${__ENV.BASE}/sse/count/3`, { tags: { own: 1, two: true } }, () => {});
  group('inner', () => sse.open(`${__ENV.BASE}/sse/count/2`, () => {}));
}

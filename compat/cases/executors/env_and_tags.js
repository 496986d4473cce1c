// row: executors.env, executors.tags
// args: -e SHARED=outside -e OTHER=kept
import http from 'k6/http';
export const options = {
  scenarios: { a: { executor: 'shared-iterations', env: { SHARED: 'a' }, tags: { which: 'a' } }, b: { executor: 'shared-iterations', startTime: '300ms', env: { SHARED: 'b' }, tags: { which: 'b' } } },
  thresholds: { 'http_reqs{which:a}': ['count==1'], 'http_reqs{which:b}': ['count==1'], 'http_reqs{scenario:a}': ['count==1'], 'iterations{which:b}': ['count==1'] },
};
export default function () { console.log(__ENV.SHARED, __ENV.OTHER); http.get(`${__ENV.BASE}/get?${__ENV.SHARED}`); }

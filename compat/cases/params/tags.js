// row: params.tags
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { thresholds: { 'http_reqs{kind:a}': ['count==2'], 'http_reqs{kind:b}': ['count==1'], 'http_reqs{n:1}': ['count==1'] } };
export default function () {
  http.get(`${base}/get`, { tags: { kind: 'a' } });
  http.get(`${base}/get`, { tags: { kind: 'a', n: 1 } });
  http.get(`${base}/get`, { tags: { kind: 'b' } });
}

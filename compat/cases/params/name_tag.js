// row: params.tags
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { thresholds: { 'http_reqs{name:item}': ['count==3'], 'http_req_failed{name:item}': ['rate<0.5'] } };
export default function () {
  for (const id of [1, 2, 3]) http.get(`${base}/anything/${id}`, { tags: { name: 'item' } });
  http.get(`${base}/get`);
}

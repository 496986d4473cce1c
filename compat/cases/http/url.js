// row: k6/http.url, summary.sub-metrics
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { thresholds: { 'http_reqs{name:http://fixed/items/${}}': ['count==2'] } };
export default function () {
  http.get(http.url`${base}/anything/${1}`, { tags: { name: 'http://fixed/items/${}' } });
  const res = http.get(http.url`${base}/anything/${2}`, { tags: { name: 'http://fixed/items/${}' } });
  console.log(res.url, res.request.url);
}

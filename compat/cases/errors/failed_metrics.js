// row: error codes, built-in metrics
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { thresholds: { 'http_reqs{status:404}': ['count==1'], 'http_reqs{error_code:1404}': ['count==1'], 'http_reqs{expected_response:false}': ['count==2'], 'http_req_failed{status:0}': ['rate==1'] } };
export default function () {
  http.get(`${base}/status/404`);
  http.get('http://127.0.0.1:1/');
  http.get(`${base}/get`);
}

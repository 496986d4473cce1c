// row: thresholds.filters, built-in metrics
import http from 'k6/http';
export const options = { thresholds: { http_req_failed: ['rate<0.6'], 'http_req_duration{status:200}': ['p(95)<5000'], 'http_reqs{method:POST,status:200}': ['count==1'], 'http_reqs{url:x}': ['count==0'], 'http_req_duration{expected_response:true}': ['max<5000'] } };
export default function () { http.get(`${__ENV.BASE}/status/500`); http.post(`${__ENV.BASE}/post`, 'x'); }

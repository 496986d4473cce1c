// row: flags.--system-tags
// args: --system-tags method,status
import http from 'k6/http';
export const options = { thresholds: { 'http_reqs{scenario:default}': ['count==0'], 'http_reqs{method:GET}': ['count==1'] } };
export default function () { http.get(`${__ENV.BASE}/get`); }

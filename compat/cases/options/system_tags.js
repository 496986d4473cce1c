// row: options.systemTags
import http from 'k6/http';
export const options = { systemTags: ['status', 'method'], thresholds: { 'http_reqs{status:200}': ['count==1'], 'http_reqs{scenario:default}': ['count==0'] } };
export default function () { http.get(`${__ENV.BASE}/get`); }

// row: flags.--tag
// args: --tag team=a --tag x=y
import http from 'k6/http';
export const options = { thresholds: { 'http_reqs{team:a,x:y}': ['count==1'] } };
export default function () { http.get(`${__ENV.BASE}/get`); }

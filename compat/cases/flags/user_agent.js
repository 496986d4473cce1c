// row: flags.--user-agent
// args: --user-agent mine/3
import http from 'k6/http';
export default function () { http.get(`${__ENV.BASE}/get`); }

// row: flags.--local-ips
// args: --local-ips 127.0.0.2
import http from 'k6/http';
export default function () { console.log(http.get(`${__ENV.BASE}/get`).status); }

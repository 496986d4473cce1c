// row: flags.--no-vu-connection-reuse
// args: --no-vu-connection-reuse -i 2
import http from 'k6/http';
export default function () { console.log([1, 2].map(() => http.get(`${__ENV.BASE}/get`).timings.connecting > 0).join()); }

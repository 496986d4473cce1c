// row: flags.--no-connection-reuse
// args: --no-connection-reuse
import http from 'k6/http';
export default function () { console.log([1, 2].map(() => http.get(`${__ENV.BASE}/get`).timings.connecting).every((t) => t > 0)); }

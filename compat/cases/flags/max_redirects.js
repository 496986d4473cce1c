// row: flags.--max-redirects
// args: --max-redirects 1
import http from 'k6/http';
export default function () { console.log(http.get(`${__ENV.BASE}/redirect/2`).status); }

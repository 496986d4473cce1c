// row: flags.--discard-response-bodies
// args: --discard-response-bodies
import http from 'k6/http';
export default function () { console.log(http.get(`${__ENV.BASE}/get`).body); }

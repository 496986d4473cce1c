// row: flags.--http-debug
// args: --http-debug
import http from 'k6/http';
export default function () { console.log(http.get(`${__ENV.BASE}/get`).status); }

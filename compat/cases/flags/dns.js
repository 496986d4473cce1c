// row: flags.--dns
// args: --dns ttl=1m,select=first,policy=any
import http from 'k6/http';
export default function () { console.log(http.get(`${__ENV.BASE}/get`).status); }

// row: options.rps
// args: -i 6
import http from 'k6/http';
let begun;
export const options = { rps: 10 };
export default function () { if (__ITER === 0) begun = Date.now(); http.get(`${__ENV.BASE}/get`); if (__ITER === 5) console.log(Date.now() - begun >= 400); }

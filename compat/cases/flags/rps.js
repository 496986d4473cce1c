// row: flags.--rps
// args: --rps 10 -i 5
import http from 'k6/http';
let begun;
export default function () { begun = begun || Date.now(); http.get(`${__ENV.BASE}/get`); if (__ITER === 4) console.log(Date.now() - begun >= 300); }

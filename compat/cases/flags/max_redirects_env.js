// row: environment.K6_MAX_REDIRECTS
// env: K6_MAX_REDIRECTS=1
import http from 'k6/http';
export const options = { maxRedirects: 5 };
export default function () { console.log(http.get(`${__ENV.BASE}/redirect/2`).status); }

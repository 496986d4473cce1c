// row: error codes
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const status of [200, 304, 399, 400, 404, 429, 500, 503]) {
    const r = http.get(`${base}/status/${status}`);
    console.log(status, r.error_code, JSON.stringify(r.error));
  }
}

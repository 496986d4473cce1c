// row: params.timeout
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/delay/5`, { timeout: 100 });
  console.log(res.status, res.error_code, res.error);
  console.log(http.get(`${base}/delay/5`, { timeout: '0.1s' }).error_code);
  console.log(http.get(`${base}/get`, { timeout: '10s' }).status);
}

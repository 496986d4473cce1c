// row: params.timeout
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/drip?duration=5&numbytes=10`, { timeout: '200ms' });
  console.log(res.status, res.error_code);
}

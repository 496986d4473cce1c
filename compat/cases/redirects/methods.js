// row: redirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const status of [301, 302, 303, 307, 308]) {
    const res = http.post(`${base}/status/${status}`, 'body', { headers: { 'Content-Type': 'text/plain', 'X-Kept': '1' } });
    console.log(status, res.status, res.json('method'), res.json('data'));
  }
}

// row: redirects
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.get(`${base}/redirect/1`, { headers: { Authorization: 'Bearer t', 'X-Other': 'kept' } });
}

// row: k6/http.expectedStatuses, k6/http.setResponseCallback
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.setResponseCallback(http.expectedStatuses(404, { min: 500, max: 503 }));
  for (const status of [200, 404, 500, 503, 504]) http.get(`${base}/status/${status}`);
}

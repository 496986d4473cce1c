// row: params.responseCallback, k6/http.expectedStatuses
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  http.get(`${base}/status/404`, { responseCallback: http.expectedStatuses(404) });
  http.get(`${base}/status/200`, { responseCallback: http.expectedStatuses({ min: 400, max: 499 }) });
  http.get(`${base}/status/500`, { responseCallback: null });
  http.get(`${base}/status/500`);
}

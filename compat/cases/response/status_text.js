// row: response.status_text
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const status of [200, 201, 204, 404, 418, 500, 503, 599]) console.log(http.get(`${base}/status/${status}`).status_text);
}

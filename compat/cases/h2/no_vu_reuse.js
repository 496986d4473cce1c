// row: http2
import http from 'k6/http';
export const options = { noVUConnectionReuse: true, iterations: 2, vus: 1 };
export default function () {
  const connected = () => http.get(`${__ENV.TLS_2}/get`).timings.connecting > 0;
  console.log(connected(), connected());
}

// row: options.noVUConnectionReuse
// args: -i 2
import http from 'k6/http';
export default function () {
  const times = [1, 2].map((n) => http.get(`${__ENV.BASE}/get?${n}`).timings.connecting);
  console.log(times[0] > 0, times[1] > 0);
}

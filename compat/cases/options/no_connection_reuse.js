// row: options.noConnectionReuse
import http from 'k6/http';
export const options = { noConnectionReuse: true };
export default function () {
  const times = [1, 2, 3].map((n) => http.get(`${__ENV.BASE}/get?${n}`).timings.connecting);
  console.log(times.every((t) => t > 0));
}

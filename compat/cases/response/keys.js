// row: response
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/get`);
  console.log(Object.keys(r).sort().join());
  console.log(Object.keys(r.timings).sort().join());
}

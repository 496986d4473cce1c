// row: response.headers
// Headers that Go's client keeps to itself.
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  console.log(Object.keys(http.get(`${base}/stream/3`).headers).sort().join());
  console.log(Object.keys(http.get(`${base}/response-headers?Trailer=X-A`).headers).sort().join());
  console.log(Object.keys(http.get(`${base}/close`).headers).sort().join());
}

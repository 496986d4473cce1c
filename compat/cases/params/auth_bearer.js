// row: params.headers
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const res = http.get(`${base}/bearer`, { headers: { Authorization: `Bearer ${'token'}` } });
  console.log(res.json('token'), http.get(`${base}/bearer`).status);
}

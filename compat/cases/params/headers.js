// row: params.headers
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const headers = { 'X-One': '1', 'x-lower-case': 'two', 'X-Number': 3, 'User-Agent': 'mine/1.0', Accept: '*/*' };
  console.log(JSON.stringify(http.get(`${base}/get`, { headers }).request.headers));
}

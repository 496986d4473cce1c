// row: k6/http.batch, options.batchPerHost
// order: any
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { batchPerHost: 1 };
export default function () {
  const list = http.batch([`${base}/status/404`, 'http://127.0.0.1:1/', `${base}/get`]);
  console.log(list.map((r) => `${r.status} ${r.error_code}`).join());
}

// row: k6/http.batch, options.batch
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { batch: 1 };
export default function () {
  http.batch([1, 2, 3, 4].map((n) => `${base}/get?n=${n}`));
}

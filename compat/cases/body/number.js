// row: request body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const body of [5, true, 1.5]) {
    try { console.log(http.post(`${base}/post`, body).json('data')); } catch (e) { console.log('thrown', typeof e); }
  }
}

// row: options.noCookiesReset
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { iterations: 2, noCookiesReset: true };
export default function () {
  console.log(JSON.stringify(http.get(`${base}/cookies`).json('cookies')));
  http.get(`${base}/cookies/set?k=v`);
}

// row: redirects, options.maxRedirects
import http from 'k6/http';
const base = __ENV.BASE;
export const options = { maxRedirects: 3 };
export default function () {
  console.log(http.get(`${base}/redirect/3`).status, http.get(`${base}/redirect/4`).status);
}

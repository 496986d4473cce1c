// row: error codes
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const path of ['hang-up', 'half', 'noise', 'bad-gzip']) {
    const r = http.post(`${base}/${path}`, 'x');
    console.log(path, r.status, r.error_code);
  }
}

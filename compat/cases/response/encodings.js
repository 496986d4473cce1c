// row: response.body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const coding of ['gzip', 'deflate', 'brotli', 'zstd']) {
    const r = http.get(`${base}/${coding}`);
    console.log(coding, r.status, r.json('method'), r.headers['Content-Encoding'], r.error_code);
  }
  console.log(http.get(`${base}/bad-gzip`).error_code);
}

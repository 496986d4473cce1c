// row: response.body, error codes
// What is there of a body whose end never comes.
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  for (const path of ['half', 'half-chunked']) {
    const r = http.get(`${base}/${path}`);
    console.log(path, r.status, r.error_code, r.error, JSON.stringify(r.body), JSON.stringify(r.headers), r.proto, r.url);
  }
  console.log(http.get(`${base}/half`, { responseType: 'none' }).body, http.get(`${base}/half`, { responseType: 'binary' }).body.byteLength);
  const coded = http.get(`${base}/half-gzip`);
  console.log(coded.status, coded.error_code, coded.error, typeof coded.body);
  console.log(JSON.stringify(http.get(`${base}/hang-up`).body));
  const late = http.get(`${base}/drip?numbytes=4&duration=1.2`, { timeout: 500 });
  console.log(late.status, late.error_code, late.error, late.body.length > 0);
}

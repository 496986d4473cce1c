// row: http2
import http from 'k6/http';
export default function () {
  const base = __ENV.TLS_2;
  const zipped = http.get(`${base}/gzip`);
  console.log(zipped.status, zipped.json('gzipped'));
  console.log(http.get(`${base}/bytes/5000`, { responseType: 'binary' }).body.byteLength);
  const none = http.get(`${base}/get`, { responseType: 'none' });
  console.log(none.body, none.status);
  console.log(http.get(`${base}/status/204`).body, http.get(`${base}/status/500`).status);
}

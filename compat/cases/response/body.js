// row: response.body
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  console.log(http.get(`${base}/encoding/utf8`).body);
  console.log(http.get(`${base}/stream/3`).body.split('\n').length);
  console.log(http.get(`${base}/stream-bytes/2500?chunk_size=1000`, { responseType: 'binary' }).body.byteLength);
  console.log(http.get(`${base}/drip?numbytes=5&duration=0.05`).body);
  console.log(http.get(`${base}/close`).status, http.get(`${base}/get`).status);
  console.log(JSON.stringify(http.get(`${base}/status/204`).body), JSON.stringify(http.get(`${base}/status/200`).body));
}

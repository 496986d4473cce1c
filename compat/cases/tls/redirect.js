// row: params.redirects
// From plain HTTP to TLS and back.
import http from 'k6/http';
export default function () {
  const there = http.get(`${__ENV.BASE}/redirect-to?url=${__ENV.TLS}/get`);
  console.log(there.status, there.url, there.tls_version);
  const back = http.get(`${__ENV.TLS}/redirect-to?url=${__ENV.BASE}/get`);
  console.log(back.status, back.url, JSON.stringify(back.tls_version));
}

// row: error codes
// The server closes a kept connection instead of answering: what can be sent again is.
import http from 'k6/http';
const base = __ENV.BASE;
const tries = [
  ['GET'], ['OPTIONS'], ['HEAD'], ['PUT', 'x'], ['DELETE'], ['POST', 'x'], ['PATCH', 'x'], ['POST', 'x', { headers: { 'Idempotency-Key': '1' } }], ['DELETE', null, { headers: { 'X-Idempotency-Key': '1' } }],
];
export default function () {
  for (const [method, body, params] of tries) {
    http.get(`${base}/get`);
    const r = http.request(method, `${base}/hang-up-reused`, body, params);
    console.log(method, r.status, r.error_code, r.error);
  }
}

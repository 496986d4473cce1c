// row: response.timings
import http from 'k6/http';
import { check } from 'k6';
const base = __ENV.BASE;
export default function () {
  const { timings } = http.get(`${base}/delay/0.05`);
  check(timings, {
    // On a busy machine a tool can lose the CPU between its write and the look at its clock: then the time is `sending`.
    'waited for the delay': (t) => t.sending + t.waiting >= 50 && t.waiting < 5000,
    'duration is the sum': (t) => Math.abs(t.duration - (t.sending + t.waiting + t.receiving)) < 0.001,
    'no handshake': (t) => t.tls_handshaking === 0,
    'all are numbers': (t) => ['blocked', 'connecting', 'looking_up', 'sending', 'receiving'].every((k) => typeof t[k] === 'number' && t[k] >= 0),
  });
}

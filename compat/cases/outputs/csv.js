// row: outputs.csv
// args: --out csv={out}/samples.csv
// samples: samples.csv
import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';
const mine = new Counter('my_counter');
export default function () { mine.add(2, { a: 'b' }); check(http.get(`${__ENV.BASE}/get`), { ok: () => true }); }

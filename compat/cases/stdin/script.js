// row: flags.-
// stdin: yes
import http from 'k6/http';
import { check } from 'k6';
export const options = { iterations: 2 };
export default function () { check(http.get(`${__ENV.BASE}/get`), { ok: (r) => r.status === 200 }); console.log(__ITER); }

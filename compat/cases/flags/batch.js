// row: flags.--batch
// args: --batch 1 --batch-per-host 1
import http from 'k6/http';
export default function () { http.batch([1, 2, 3].map((n) => `${__ENV.BASE}/get?${n}`)); }

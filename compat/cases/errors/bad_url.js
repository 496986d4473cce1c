// row: error codes
import http from 'k6/http';
export default function () {
  for (const url of ['nonsense', '', 'ftp://127.0.0.1/', 'http://', 'http://127.0.0.1:99999/']) {
    try { const r = http.get(url); console.log(JSON.stringify(url), r.status, r.error_code); } catch (e) { console.log(JSON.stringify(url), 'threw'); }
  }
}

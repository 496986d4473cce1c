// row: response.json, params.responseType
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/json`, { responseType: 'none' });
  try { console.log(r.json('title')); } catch (e) { console.log('throws'); }
  const b = http.get(`${base}/json`, { responseType: 'binary' });
  try { console.log(b.json('title')); } catch (e) { console.log('throws'); }
}

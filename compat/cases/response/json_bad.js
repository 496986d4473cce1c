// row: response.json
import http from 'k6/http';
const base = __ENV.BASE;
export default function () {
  const r = http.get(`${base}/bad-json`);
  let caught = false;
  try { r.json(); } catch (e) { caught = true; }
  console.log('caught', caught);
  const none = http.get(`${base}/status/200`);
  try { console.log(none.json()); } catch (e) { console.log('empty throws'); }
  console.log(r.json('a.0'), r.json('missing'));
}

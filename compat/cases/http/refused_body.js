// row: error codes
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const text = (f) => { try { return JSON.stringify(f()); } catch (e) { return 'threw ' + e.message; } };
  for (const url of [false, null, 5, {}]) {
    const r = http.get(url);
    console.log(Array.isArray(r.body), r.body.length, text(() => r.json()), text(() => r.json('a')), text(() => r.html().text()), text(() => r.body.includes('x')));
    console.log(text(() => check(r, { a: (r) => r.status === 200, b: (r) => r.body.includes('x') })));
    r.body = 'set'; console.log(r.body, text(() => r.html().text()));
  }
  const again = http.get(false); again.body.push('x'); console.log(JSON.stringify(again.body), text(() => again.html().text()), JSON.stringify({ ...again }.body));
  const t = http.get('http://127.0.0.1:1/', { responseType: 'nothing' }); console.log(text(() => t.body), t.error, t.error_code);
  const c = http.post(false, { a: 1 }); console.log(text(() => c.body));
}

// exit: 0
// requests: 
// passed: 1
// failed: 0
// iterations: 1
import http from 'k6/http';
import { check } from 'k6';
export const options = { throw: true };
export default function () {
  let thrown = '';
  try { http.get('http://127.0.0.1:1/'); } catch (e) { thrown = String(e); }
  check(thrown, { thrown: (t) => t.includes('connection refused') });
}

// row: life cycle.default
import http from 'k6/http';
let refused = false;
try { http.get(__ENV.BASE); } catch (e) { refused = true; }
export default function () { console.log('refused', refused); }

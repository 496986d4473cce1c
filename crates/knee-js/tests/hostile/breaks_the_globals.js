// iterations: 1
import http from 'k6/http';
JSON.parse = null; Object.prototype.status = 1; globalThis.Promise = null; Array.prototype.map = null;
export default function () { http.get(__ENV.BASE + '/').json(); }

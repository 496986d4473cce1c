// row: options.userAgent
import http from 'k6/http';
export const options = { userAgent: 'mine/2.0' };
export default function () { http.get(`${__ENV.BASE}/get`); http.get(`${__ENV.BASE}/get`, { headers: { 'User-Agent': 'own' } }); }

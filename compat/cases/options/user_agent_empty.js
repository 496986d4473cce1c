// row: options.userAgent
import http from 'k6/http';
export const options = { userAgent: '' };
export default function () { http.get(`${__ENV.BASE}/get`); }

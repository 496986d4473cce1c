// row: options.blacklistIPs
import http from 'k6/http';
export const options = { blacklistIPs: ['10.0.0.0/8'] };
export default function () { const r = http.get('http://10.1.2.3/', { timeout: '1s' }); console.log(r.status, r.error_code); }

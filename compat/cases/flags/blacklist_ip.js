// row: flags.--blacklist-ip
// args: --blacklist-ip 10.0.0.0/8
import http from 'k6/http';
export default function () { console.log(http.get('http://10.1.2.3/', { timeout: '1s' }).error_code); }

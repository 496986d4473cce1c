// row: flags.--block-hostnames
// args: --block-hostnames *.blocked.example
import http from 'k6/http';
export default function () { console.log(http.get('http://a.blocked.example/').error_code); }

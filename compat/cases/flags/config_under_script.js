// row: flags.--config
// args: --config {dir}/material/config.json
import http from 'k6/http';
export const options = { iterations: 1 };
export default function () { console.log(__ITER); http.get(`${__ENV.BASE}/get`); }

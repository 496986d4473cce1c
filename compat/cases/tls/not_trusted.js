// row: error codes
import http from 'k6/http';
export default function () {
  for (const door of ['TLS_UNKNOWN', 'TLS_OTHER', 'TLS_PAST']) {
    const res = http.get(`${__ENV[door]}/get`);
    console.log(door, res.status, res.error_code, res.body, res.error.split(':')[0]);
  }
}

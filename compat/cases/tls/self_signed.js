// row: error codes
// Servers that are their own authority; the first one is trusted.
import http from 'k6/http';
export default function () {
  for (const door of ['TLS_OWN', 'TLS_OWN_UNKNOWN', 'TLS_OWN_OTHER', 'TLS_OWN_PAST']) {
    const res = http.get(`${__ENV[door]}/get`);
    console.log(door, res.status, res.error_code, res.error.split(':').slice(0, 2).join(':'));
  }
}

// row: error codes
import http from 'k6/http';
export default function () {
  for (const door of ['TLS_UNKNOWN', 'TLS_OTHER']) console.log(door, http.get(`${__ENV[door]}/get`).error);
}

// row: options.insecureSkipTLSVerify
import http from 'k6/http';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  for (const door of ['TLS_UNKNOWN', 'TLS_OTHER', 'TLS_PAST']) {
    const res = http.get(`${__ENV[door]}/get?${door}`);
    console.log(door, res.status, res.error_code, JSON.stringify(res.error));
  }
}

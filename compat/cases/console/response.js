// row: globals.console, response
import http from 'k6/http';
export default function () {
  const res = http.get(`${__ENV.BASE}/status/204`);
  const line = JSON.stringify(res);
  console.log(typeof line, JSON.parse(line).status, Object.keys(JSON.parse(line)).sort().join());
}

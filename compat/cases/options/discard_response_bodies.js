// row: options.discardResponseBodies
import http from 'k6/http';
export const options = { discardResponseBodies: true };
export default function () {
  console.log(http.get(`${__ENV.BASE}/get`).body, typeof http.get(`${__ENV.BASE}/get`, { responseType: 'text' }).body);
}

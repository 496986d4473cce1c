// row: k6/http.cookieJar
// Cookies for TLS alone stay off plain HTTP, also those that a server sets.
import http from 'k6/http';
export default function () {
  http.get(`${__ENV.TLS}/response-headers?Set-Cookie=${encodeURIComponent('safe=1; Secure; Path=/')}`);
  http.get(`${__ENV.TLS}/response-headers?Set-Cookie=${encodeURIComponent('open=2; Path=/')}`);
  for (const door of ['TLS', 'BASE']) {
    const kept = http.get(`${__ENV[door]}/cookies`).json('cookies');
    console.log(door, Object.keys(kept).sort().join());
  }
}

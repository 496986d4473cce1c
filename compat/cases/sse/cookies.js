// row: k6/x/sse
import sse from 'k6/x/sse';
import http from 'k6/http';
const show = (client) => { client.on('event', (event) => console.log(event.data)); };
export default function () {
  http.cookieJar().set(__ENV.BASE, 'mine', '1');
  sse.open(`${__ENV.BASE}/sse/echo`, show);
  sse.open(`${__ENV.BASE}/sse/echo`, show);
  const jar = new http.CookieJar();
  sse.open(`${__ENV.BASE}/sse/echo`, { jar }, show);
  sse.open(`${__ENV.BASE}/sse/echo`, { jar: null }, show);
  const names = (of) => Object.keys(of.cookiesForURL(__ENV.BASE)).sort().join();
  console.log(names(jar), names(http.cookieJar()));
}

// row: k6/x/sse
import sse from 'k6/x/sse';
const show = (client) => { client.on('event', (event) => console.log(event.data)); };
export default function () {
  sse.open(`${__ENV.BASE}/sse/echo`, { headers: { accept: 'text/plain', 'user-agent': 'me' } }, show);
  sse.open(`${__ENV.BASE}/sse/echo`, { headers: { 'Accept-Encoding': 'identity' } }, show);
  sse.open(`${__ENV.BASE}/sse/echo`, { headers: null }, show);
  sse.open(`${__ENV.BASE}/sse/echo`, { headers: undefined, tags: {} }, show);
  const res = sse.open(`${__ENV.BASE}/sse/echo`, null, show);
  console.log(res.headers['X-Two'], res.headers['Content-Type'], res.headers['Set-Cookie']);
}

// row: k6/ws, k6/http.cookieJar
import ws from 'k6/ws';
import http from 'k6/http';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  const close = (s) => s.close();
  const params = { headers: { 'x-a': 'b', 'Sec-WebSocket-Protocol': 'p1, p2' }, compression: 'deflate', tags: { t: '1' } };
  const response = ws.connect(`${base}/ws/protocol/p2`, params, close);
  console.log(response.headers['Sec-Websocket-Protocol']);
  ws.connect(`${base}/ws/cookie`, close);
  ws.connect(`${base}/ws/echo?a=1&b=%20`, close);
  const jar = new http.CookieJar();
  jar.set(__ENV.BASE, 'own', 'x');
  ws.connect(`${base}/ws/echo`, { jar }, close);
  ws.connect(`${base}/ws/echo`, { headers: { Cookie: 'by=hand' } }, close);
}

// row: k6/ws
import ws from 'k6/ws';
import { check } from 'k6';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  const response = ws.connect(`${base}/ws/echo`, null, (socket) => {
    console.log(Object.keys(socket).sort().join());
    socket.on('open', () => { console.log('open'); socket.send('one'); socket.sendBinary(new Uint8Array([1, 2, 255]).buffer); });
    socket.on('message', (text) => console.log('message', typeof text, text));
    socket.on('binaryMessage', (data) => { console.log(new Uint8Array(data).join()); socket.close(); });
    socket.on('close', (code) => console.log('close', code));
    console.log('set up');
  });
  console.log(Object.keys(response).sort().join(), response.status, response.url, response.headers.Upgrade, `[${response.body}${response.error}]`);
  check(response, { 101: (r) => r && r.status === 101 });
}

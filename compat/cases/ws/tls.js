// row: k6/ws
import ws from 'k6/ws';
export default function () {
  const response = ws.connect(`${__ENV.TLS.replace('http', 'ws')}/ws/echo`, (socket) => {
    socket.on('open', () => { socket.send('x'.repeat(50000)); });
    socket.on('message', (text) => { console.log(text.length); socket.close(); });
  });
  console.log(response.status);
  console.log(ws.connect(`${__ENV.TLS_UNKNOWN.replace('http', 'ws')}/ws/echo`, () => {}).status);
}

// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  for (const path of ['hello', 'binary', 'pieces', 'ping', 'pong', 'no_text', 'deflate']) {
    ws.connect(`${base}/ws/${path}`, {}, (socket) => {
      socket.on('message', (text) => console.log(path, 'message', text));
      socket.on('binaryMessage', (data) => console.log(path, 'binary', data.byteLength));
      for (const event of ['ping', 'pong']) socket.on(event, (...all) => console.log(path, event, all.length));
      socket.on('error', (e) => console.log(path, e.error()));
      socket.setTimeout(() => socket.close(), 60);
    });
  }
}

// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  for (const path of ['close/1000', 'close/1001', 'close/1011', 'close/3001', 'close', 'close/1004', 'drop', 'reserved']) {
    ws.connect(`${base}/ws/${path}`, {}, (socket) => {
      for (const event of ['open', 'message', 'ping', 'pong']) socket.on(event, () => console.log(path, event));
      socket.on('error', (e) => console.log(path, 'error', e.error(), e.code, Object.keys(e).join(), String(e)));
      socket.on('close', (code) => console.log(path, 'close', code));
    });
  }
}

// row: k6/websockets
// lines: any
// order: any
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  for (const path of ['ws/close/1000', 'ws/close/1001', 'ws/close/1011', 'ws/close/3001', 'ws/close', 'ws/drop', 'ws/wrong_key', 'status/404']) {
    const socket = new WebSocket(`${base}/${path}`);
    for (const event of ['open', 'message', 'ping', 'pong']) socket.addEventListener(event, () => console.log(path, event));
    socket.onerror = (e) => console.log(path, 'error', e.error, socket.readyState);
    socket.onclose = (e) => console.log(path, 'close', e.code, JSON.stringify(e.reason), socket.readyState);
  }
  const refused = new WebSocket('ws://127.0.0.1:1/');
  refused.onerror = (e) => console.log('refused', e.error, refused.readyState);
  refused.onclose = (e) => console.log('refused close', e.code, JSON.stringify(e.reason));
}

// row: k6/websockets
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
const open = (path, protocols, params) => new Promise((done) => {
  const socket = new WebSocket(base + path, protocols, params);
  socket.onopen = () => { console.log(socket.protocol, JSON.stringify(socket.extensions)); socket.close(); };
  socket.onclose = done;
});
export default async function () {
  await open('/ws/protocol/b', ['a', 'b']);
  await open('/ws/protocol/b', 'b');
  await open('/ws/deflate', null, { compression: 'deflate', headers: { a: 'b' }, tags: { name: 'n' } });
}

// row: k6/websockets
// args: -i 2
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  const socket = new WebSocket(`${base}/ws/echo`);
  const event = __ITER === 0 ? 'onopen' : 'onmessage';
  socket.onopen = () => socket.send('x');
  socket[event] = () => { throw new Error(event); };
  socket.onerror = () => console.log('error', socket.readyState);
  socket.onclose = (e) => console.log('close', e.code);
}

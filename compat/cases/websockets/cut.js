// row: k6/websockets
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
export const options = { scenarios: { a: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '200ms' } } };
export default function () {
  if (__ITER === 0) return;
  const socket = new WebSocket(`${base}/ws/echo`);
  socket.onopen = () => socket.send('x');
  socket.onclose = () => console.log('never');
}

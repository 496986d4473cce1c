// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export const options = { scenarios: { a: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '200ms' } } };
export default function () {
  if (__ITER === 0) return;
  ws.connect(`${base}/ws/echo`, (s) => { s.on('open', () => s.send('x')); s.on('message', (text) => console.log(text)); });
}

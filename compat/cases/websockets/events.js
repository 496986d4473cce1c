// row: k6/websockets
import { WebSocket } from 'k6/websockets';
import { sleep } from 'k6';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  const socket = new WebSocket(`${base}/ws/echo`);
  let got = 0;
  socket.onopen = () => { socket.send('1'); socket.send('2'); sleep(0.05); console.log('slept'); };
  socket.onmessage = (e) => {
    Promise.resolve().then(() => console.log('promise', e.data));
    console.log('message', e.data);
    if (++got === 2) setTimeout(() => socket.close(), 5);
  };
  socket.onclose = () => console.log('close');
}

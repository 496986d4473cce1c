// row: k6/websockets
import { WebSocket } from 'k6/websockets';
import { group } from 'k6';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  group('g', () => {
    const socket = new WebSocket(`${base}/ws/echo`, null, { tags: { t: '1' } });
    console.log(Object.keys(socket).join(), socket.readyState, socket.bufferedAmount, JSON.stringify(socket.protocol), socket.binaryType, typeof socket.onopen);
    socket.onmessage = (e) => { console.log('on', e.type, e.data, e.origin, e.target === socket, Object.keys(e).join()); socket.close(); };
    socket.addEventListener('message', () => console.log('listener'));
    socket.onopen = () => { console.log('open', socket.readyState, socket.url); socket.send('hi'); console.log(socket.bufferedAmount); };
    socket.onclose = (e) => console.log('close', e.code, JSON.stringify(e.reason), socket.readyState, Object.keys(e).join());
  });
  console.log('returned');
}

// row: k6/ws
import { group } from 'k6';
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  setTimeout(() => console.log('global timer'), 1);
  Promise.resolve().then(() => console.log('promise'));
  group('g', () => ws.connect(`${base}/ws/echo`, { tags: { a: '1' } }, (socket) => {
    let count = 0;
    socket.on('open', () => console.log('first'));
    socket.on('open', () => console.log('second'));
    socket.setTimeout(() => console.log('timeout'), 5);
    socket.setInterval(() => { console.log(++count); if (count === 3) socket.close(1000); }, 30);
    socket.on('close', (code) => console.log('close', code));
  }));
  console.log('after');
}

// row: k6/websockets
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
const attempt = (f) => { try { console.log(f()); } catch (e) { console.log(String(e), e.name); } };
export default function () {
  const socket = new WebSocket(`${base}/ws/echo`);
  socket.binaryType = 'arraybuffer';
  let got = 0;
  socket.onmessage = (e) => { console.log(typeof e.data === 'string' ? e.data : new Uint8Array(e.data).join()); if (++got === 4) socket.close(3000, 'done'); };
  socket.onopen = () => {
    attempt(() => socket.send({}));
    attempt(() => socket.send(5));
    attempt(() => socket.send([1]));
    socket.send('');
    socket.send(new Uint8Array([1, 2, 3]).buffer);
    socket.send(new Uint8Array([1, 2, 3]).subarray(1));
    socket.send('last');
    socket.ping();
  };
  socket.onpong = () => console.log('pong');
  socket.onclose = (e) => console.log(e.code);
}

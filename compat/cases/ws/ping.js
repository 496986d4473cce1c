// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export const options = { thresholds: { ws_ping: ['max>=0'], ws_msgs_sent: ['count==1'] } };
export default function () {
  let pongs = 0;
  ws.connect(`${base}/ws/echo`, (socket) => {
    socket.on('open', () => { socket.ping(); socket.ping(); socket.send('x'); });
    socket.on('pong', () => console.log('pong', ++pongs));
    socket.on('message', () => socket.close());
  });
}

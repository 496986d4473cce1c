// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  ws.connect(`${base}/ws/echo`, (s) => {
    s.on('error', (e) => console.log('error', e.error()));
    s.on('close', (code) => console.log('close', code));
    s.on('open', () => { s.close(4001); s.send('late'); s.ping(); s.close(); });
  });
}

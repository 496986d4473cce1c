// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  ws.connect(`${base}/ws/echo`, (outer) => {
    outer.on('open', () => {
      outer.send('1');
      ws.connect(`${base}/ws/echo`, (inner) => {
        inner.on('open', () => inner.send('2'));
        inner.on('message', (text) => { console.log('inner', text); inner.close(); });
      });
    });
    outer.on('message', (text) => { console.log('outer', text); outer.close(); });
  });
}

// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  ws.connect(`${base}/ws/deflate`, { compression: 'deflate' }, (s) => {
    s.on('open', () => { s.send('hello hello hello hello'); s.send(''); s.send('x'.repeat(100000)); });
    s.on('message', (text) => { console.log(text.length, text.slice(0, 30)); if (text.length === 100000) s.close(); });
  });
}

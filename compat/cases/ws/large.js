// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  ws.connect(`${base}/ws/echo`, (s) => {
    let got = 0;
    s.on('open', () => { s.send('ü'.repeat(1000)); s.sendBinary(new ArrayBuffer(70000)); });
    s.on('message', (text) => { got += text.length; });
    s.on('binaryMessage', (data) => { console.log(got, data.byteLength); s.close(); });
  });
}

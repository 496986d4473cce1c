// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  const run = (name, f) => {
    try {
      ws.connect(`${base}/ws/echo`, (s) => { s.on('close', (code) => console.log(name, 'close', code)); f(s); });
    } catch (e) { console.log(name, String(e)); }
  };
  run('function', () => { throw new Error('one'); });
  run('timer', (s) => s.setTimeout(() => { throw new TypeError('two'); }, 5));
  run('message', (s) => { s.on('open', () => s.send('x')); s.on('message', () => { throw new Error('three'); }); });
  run('open', (s) => s.on('open', () => { throw 'four'; }));
}

// row: k6/websockets
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
const attempt = (f) => { try { console.log(f()); } catch (e) { console.log(String(e), e.name); } };
export default function () {
  for (const url of [undefined, null, '', 'http://x/', `${base}/ws/echo#f`, 'ws://[::1', 'nosuch']) attempt(() => new WebSocket(url));
  for (const params of [{ foo: 1 }, { tags: { a: {} } }, { compression: 'gzip' }, { compression: '' }]) {
    attempt(() => new WebSocket(`${base}/ws/echo`, null, params));
  }
  const s = new WebSocket(`${base}/ws/echo`);
  attempt(() => s.send('x'));
  attempt(() => s.ping());
  attempt(() => { s.binaryType = 'foo'; });
  attempt(() => { s.onopen = 5; });
  attempt(() => s.addEventListener('open'));
  attempt(() => s.addEventListener('foo', () => {}));
  attempt(() => s.close(1001));
  attempt(() => s.close(1000, 'x'.repeat(124)));
  s.onopen = () => s.close();
  s.onclose = () => { attempt(() => s.send('late')); attempt(() => s.close()); };
}

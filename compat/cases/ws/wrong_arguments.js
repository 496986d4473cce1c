// row: k6/ws
// lines: set
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
const attempt = (f) => { try { console.log(f()); } catch (e) { console.log(String(e), e.name); } };
attempt(() => ws.connect(`${base}/ws/echo`, () => {}));
export default function () {
  const none = () => {};
  for (const given of [[], [{}, 3], [{}, none, 3], [{ compression: 'gzip' }, none], [{ tags: { a: {} } }, none]]) {
    attempt(() => ws.connect(`${base}/ws/echo`, ...given));
  }
  ws.connect(`${base}/ws/echo`, (s) => {
    for (const f of [() => s.setTimeout(none, 0), () => s.setInterval(none, -1.5), () => s.setTimeout(3, 5), () => s.setTimeout(),
      () => s.sendBinary('x'), () => s.sendBinary(), () => s.sendBinary(null), () => s.sendBinary(new Uint8Array(2)),
      () => s.on('x'), () => s.on('message', 5)]) attempt(f);
    s.close();
  });
}

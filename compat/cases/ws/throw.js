// row: k6/ws
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export const options = { throw: true };
export default function () {
  for (const url of ['ws://127.0.0.1:1/', `${base}/status/404`]) {
    try { ws.connect(url, () => {}); } catch (e) { console.log(String(e), e.name); }
  }
  ws.connect(`${base}/status/404`, () => {});
}

// row: k6/ws, outputs.csv
// args: --out csv={out}/all.csv
// samples: all.csv
import ws from 'k6/ws';
const base = __ENV.BASE.replace('http', 'ws');
export const options = { systemTags: ['group', 'scenario', 'status', 'subproto', 'url', 'name'] };
export default function () {
  ws.connect(`${base}/ws/protocol/p`, { tags: { t: '1' }, headers: { 'Sec-WebSocket-Protocol': 'p' } }, (s) => {
    s.on('open', () => { s.send('x'); });
    s.on('message', () => s.close());
  });
}

// row: k6/websockets, outputs.csv
// args: --out csv={out}/all.csv
// samples: all.csv
import { WebSocket } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
export const options = { systemTags: ['group', 'scenario', 'status', 'subproto', 'url', 'name'] };
export default function () {
  const socket = new WebSocket(`${base}/ws/protocol/p`, 'p', { tags: { t: '1' } });
  socket.onopen = () => { socket.send('x'); };
  socket.onmessage = () => socket.close();
}

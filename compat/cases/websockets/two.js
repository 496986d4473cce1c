// row: k6/websockets, k6/experimental/websockets
import { WebSocket } from 'k6/websockets';
import { WebSocket as Former } from 'k6/experimental/websockets';
const base = __ENV.BASE.replace('http', 'ws');
export default function () {
  const first = new WebSocket(`${base}/ws/echo`);
  first.onopen = () => first.send('first');
  first.onmessage = (e) => {
    console.log(e.data);
    first.close();
    const second = new Former(`${base}/ws/hello`);
    second.onmessage = (e) => { console.log(e.data); second.close(); };
  };
}

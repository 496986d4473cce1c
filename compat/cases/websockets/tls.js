// row: k6/websockets, options.hosts
import { WebSocket } from 'k6/websockets';
const plain = new RegExp('[0-9]+$').exec(__ENV.BASE)[0];
export const options = { hosts: { 'name.test': '127.0.0.1' } };
export default function () {
  for (const url of [`${__ENV.TLS.replace('http', 'ws')}/ws/hello`, `ws://name.test:${plain}/ws/hello`]) {
    const socket = new WebSocket(url);
    socket.onmessage = (e) => { console.log(e.data); socket.close(); };
    socket.onclose = (e) => console.log(e.code);
  }
}

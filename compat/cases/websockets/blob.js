// row: k6/websockets
import { WebSocket, Blob } from 'k6/websockets';
const base = __ENV.BASE.replace('http', 'ws');
const attempt = (f) => { try { console.log(f()); } catch (e) { console.log(String(e).slice(0, 40), e.name); } };
export default async function () {
  const blob = new Blob(['abc', new Uint8Array([100, 101]).buffer], { type: 't' });
  console.log(blob.size, blob.type, await blob.text(), String(blob));
  console.log(await blob.slice(1, 3).text(), await blob.slice(1).text(), await blob.slice(0, -2).text(), blob.slice(0, 2, 'x').type);
  console.log(new Uint8Array(await blob.arrayBuffer()).join(), (await blob.bytes()).join(), new Blob().size);
  attempt(() => new Blob([5]));
  attempt(() => new Blob([], 5));
  const socket = new WebSocket(`${base}/ws/binary`);
  socket.onmessage = async (e) => { console.log(e.data.size, e.data.type, (await e.data.bytes()).join()); socket.close(); };
}

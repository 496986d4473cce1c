// row: environment.HTTP_PROXY, k6/websockets
// env: HTTP_PROXY=http://{proxy}
import { WebSocket } from 'k6/websockets';
export default function () {
  const socket = new WebSocket('ws://service.test/ws/echo');
  socket.onopen = () => socket.send('over');
  socket.onmessage = (event) => {
    console.log(event.data);
    socket.close();
  };
  socket.onerror = (event) => console.log(event.error);
}

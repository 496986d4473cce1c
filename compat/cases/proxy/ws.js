// row: environment.HTTP_PROXY, environment.HTTPS_PROXY, k6/ws
// env: HTTP_PROXY=http://u:w@{proxy}
// env: HTTPS_PROXY=socks5://{proxy}
import ws from 'k6/ws';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  for (const url of ['ws://service.test/ws/echo', 'wss://service.test/ws/echo']) {
    const answer = ws.connect(url, (socket) => {
      socket.on('open', () => socket.send('over'));
      socket.on('message', (text) => {
        console.log(text);
        socket.close();
      });
    });
    console.log(answer.status, answer.error);
  }
}

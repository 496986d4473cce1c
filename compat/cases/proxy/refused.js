// row: environment.HTTP_PROXY, environment.HTTPS_PROXY
// env: HTTP_PROXY=http://127.0.0.1:1
// env: HTTPS_PROXY=http://{proxy}
import http from 'k6/http';
import ws from 'k6/ws';
export const options = { insecureSkipTLSVerify: true };
export default function () {
  for (const url of ['http://service.test/get', 'https://refused.test/get']) {
    const answer = http.get(url);
    console.log(answer.status, answer.error_code, answer.error, answer.remote_ip);
  }
  for (const url of ['ws://service.test/ws/echo', 'wss://refused.test/ws/echo']) {
    console.log(ws.connect(url, (socket) => socket.close()).error);
  }
}

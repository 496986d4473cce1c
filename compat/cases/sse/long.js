// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  sse.open(`${__ENV.BASE}/sse/long/3000000`, (client) => {
    client.on('event', (event) => console.log(event.data.length));
  });
}

// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const res = sse.open(`${__ENV.BASE}/sse/cut`, (client) => {
    client.on('event', (event) => console.log('event', event.data));
    client.on('error', (e) => { console.log('error', e.error()); client.close(); });
  });
  console.log(res.status);
}

// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const res = sse.open(`${__ENV.BASE}/status/204`, (client) => { client.on('event', () => console.log('event')); });
  console.log(res.status, JSON.stringify(res.error));
}

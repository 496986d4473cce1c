// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  let events = 0;
  const res = sse.open(`${__ENV.BASE}/sse/slow/50/100`, { timeout: '350ms' }, (client) => {
    client.on('event', () => { events += 1; });
    client.on('error', (e) => { console.log('error', e.error()); client.close(); });
  });
  console.log(res.status, events > 0 && events < 10);
}

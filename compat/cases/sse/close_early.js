// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const seen = [];
  const res = sse.open(`${__ENV.BASE}/sse/slow/50/20`, (client) => {
    client.on('event', (event) => { seen.push(event.id); if (event.id === '3') client.close(); });
  });
  console.log(res.status, seen.slice(0, 3).join(), JSON.stringify(res.error));
}

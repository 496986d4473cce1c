// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const res = sse.open(`${__ENV.BASE}/sse/slow/50/20`, (client) => {
    client.on('open', () => console.log('open'));
    client.close();
    client.close();
  });
  console.log(res.status);
}

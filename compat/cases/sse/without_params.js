// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  let seen = 0;
  const res = sse.open(`${__ENV.BASE}/sse/count/5`, (client) => { client.on('event', () => { seen += 1; }); });
  console.log(res.status, seen);
}

// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const res = sse.open(`${__ENV.BASE}/sse/count/3`, {}, (client) => {
    client.on('open', (...given) => console.log('open', given.length));
    client.on('event', (event) => console.log('event', JSON.stringify(event)));
    client.on('error', (e) => console.log('error', e.error()));
  });
  console.log(res.url === `${__ENV.BASE}/sse/count/3`, res.status, JSON.stringify(res.headers), JSON.stringify(res.error), Object.keys(res).join());
}

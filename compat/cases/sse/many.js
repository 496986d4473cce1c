// row: k6/x/sse
import sse from 'k6/x/sse';
export const options = { vus: 5, iterations: 10 };
export default function () {
  let seen = 0;
  sse.open(`${__ENV.BASE}/sse/count/2000`, (client) => { client.on('event', (e) => { seen += Number(e.id); }); });
  console.log(seen);
}

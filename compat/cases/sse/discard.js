// row: k6/x/sse
import sse from 'k6/x/sse';
export const options = { discardResponseBodies: true };
export default function () {
  sse.open(`${__ENV.BASE}/sse/count/2`, (client) => { client.on('event', (event) => console.log(event.data)); });
}

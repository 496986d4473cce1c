// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  sse.open(`${__ENV.BASE.replace('://', '://me:word@')}/sse/echo`, (client) => {
    client.on('event', (event) => console.log(event.data));
  });
}

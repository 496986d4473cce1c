// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  sse.open(`${__ENV.BASE}/sse/count/2`, function (client) {
    client.on('event', function () { console.log('first', this === undefined, arguments.length); });
    client.on('event', (event) => console.log('second', event.id, typeof event.data));
    client.on('error', () => console.log('never'));
    console.log(Object.keys(client).join(), typeof client.on, typeof client.close, client.close());
  });
}

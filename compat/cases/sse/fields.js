// row: k6/x/sse
import sse from 'k6/x/sse';
const show = (client) => {
  client.on('event', (event) => console.log(JSON.stringify(event)));
  client.on('error', (e) => console.log('error', JSON.stringify(e.error())));
};
export default function () {
  for (const name of ['fields', 'crlf', 'comments', 'unknown', 'unfinished', 'unicode', 'binary', 'empty']) {
    console.log(name, sse.open(`${__ENV.BASE}/sse/${name}`, show).status);
  }
}

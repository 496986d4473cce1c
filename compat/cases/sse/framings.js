// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  for (const name of ['until-close/3', 'with-length/3', 'bytes/3', 'gzip', 'count/0']) {
    const seen = [];
    const res = sse.open(`${__ENV.BASE}/sse/${name}`, (client) => {
      client.on('event', (event) => seen.push(event.data));
      client.on('error', (e) => seen.push(`error ${e.error().slice(0, 20)}`));
    });
    const { 'Content-Encoding': encoding, 'Content-Length': length } = res.headers;
    console.log(name, res.status, encoding, length, seen.slice(0, 3).join(' | '));
  }
}

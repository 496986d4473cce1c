// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  for (const headers of [{}, { 'Accept-Encoding': 'gzip' }, { Range: 'bytes=0-' }]) {
    const seen = [];
    const res = sse.open(`${__ENV.BASE}/sse/gzip`, { headers }, (client) => {
      client.on('event', (event) => seen.push(event.data));
      client.on('error', (e) => { seen.push(e.error().slice(0, 14)); });
    });
    console.log(JSON.stringify(headers), res.headers['Content-Encoding'], seen.slice(0, 3).join(' | '));
  }
  console.log(sse.open('http://127.0.0.1:1/', { method: 'get' }, () => {}).error);
}

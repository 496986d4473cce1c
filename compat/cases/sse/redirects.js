// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  const seen = [];
  const show = (client) => { client.on('event', (event) => seen.push(event.data)); };
  const to = (path, status = 302) => `${__ENV.BASE}/redirect-to?status_code=${status}&url=${encodeURIComponent(path)}`;
  console.log(sse.open(to('/sse/count/2'), show).status, seen.join());
  for (const status of [301, 303, 307, 308]) {
    seen.length = 0;
    sse.open(to('/sse/echo', status), { method: 'POST', body: 'x', headers: { 'x-own': 1 } }, show);
    console.log(status, seen.join());
  }
  console.log(sse.open(`${__ENV.BASE}/redirect/9`, { headers: { a: 'b' } }, () => {}).status);
  console.log(sse.open(`${__ENV.BASE}/redirect/10`, () => {}).status);
  console.log(sse.open(`${__ENV.BASE}/redirect-loop`, () => {}).error);
  console.log(sse.open(`${__ENV.BASE}/redirect-nowhere`, () => {}).status);
}

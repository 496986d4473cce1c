// row: k6/x/sse
import sse from 'k6/x/sse';
export default function () {
  sse.open(`${__ENV.BASE}/sse/echo`, {
    method: 'POST',
    body: '  {"stream": true}  ',
    headers: { 'content-type': 'application/json', Authorization: 'Bearer x', 'x-own': 7, Host: 'other' },
  }, (client) => { client.on('event', (event) => console.log(event.data)); });
  sse.open(`${__ENV.BASE}/sse/echo`, { method: ' PUT ' }, (client) => { client.on('event', (event) => console.log(event.data)); });
  sse.open(`${__ENV.BASE}/sse/echo`, { method: '', body: 'with a get' }, (client) => { client.on('event', (event) => console.log(event.data)); });
}

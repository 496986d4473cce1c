// row: k6/x/sse
import sse from 'k6/x/sse';
import { check } from 'k6';
export default function () {
  for (const status of [200, 201, 400, 404, 500, 503]) {
    const res = sse.open(`${__ENV.BASE}/sse/status/${status}`, (client) => {
      client.on('open', () => console.log('open'));
      client.on('event', (event) => console.log('event', event.data));
      client.on('error', (e) => console.log('error', e.error()));
    });
    check(res, { 'status is 200': (r) => r && r.status === 200 });
    console.log(res.status, res.headers['X-Why'], JSON.stringify(res.error));
  }
}

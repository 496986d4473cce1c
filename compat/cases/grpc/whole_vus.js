// row: grpc.connect, grpc.invoke, life cycle.setup
// order: any
// lines: any
import grpc from 'k6/net/grpc';
import http from 'k6/http';
import { check } from 'k6';
// As users write them: one file for all VUs, one connection for each, and data that was made before.
const client = new grpc.Client();
client.load(['.'], 'shop.proto');
export const options = {
  scenarios: { buyers: { executor: 'per-vu-iterations', vus: 3, iterations: 4, maxDuration: '20s' } },
  thresholds: { checks: ['rate==1'], 'grpc_req_duration{method:Echo}': ['p(95)<20000'], grpc_streams: ['count==3'] },
};
export function setup() {
  const http_ready = http.get(`${__ENV.BASE}/status/200`).status;
  return { names: ['pen', 'book', 'lamp'], ready: http_ready === 200 };
}
export default function (data) {
  if (__ITER === 0) client.connect(__ENV.GRPC, { plaintext: true, timeout: '10s' });
  const name = data.names[__ITER % data.names.length];
  const bought = client.invoke('shop.Shop/Echo', { aString: name, inner: { name, count: __ITER } }, { metadata: { 'x-request': `${__ITER}` }, tags: { step: 'buy' } });
  check(bought, {
    'bought': (r) => r && r.status === grpc.StatusOK,
    'as asked for': (r) => r.message.inner.count === __ITER && r.message.aString === name,
  });
  const refused = client.invoke('shop.Shop/Fail', { code: grpc.StatusResourceExhausted, message: 'sold out' });
  check(refused, { 'sold out': (r) => r.error.message === 'sold out' && r.status === grpc.StatusResourceExhausted });
  if (__ITER === 3) {
    const stream = new grpc.Stream(client, 'shop.Shop/Sum');
    stream.on('data', (total) => check(total, { 'added up': (t) => t.items === 3 && t.count === '6' }));
    stream.on('end', () => client.close());
    [1, 2, 3].forEach((count) => stream.write({ name, count }));
    stream.end();
  }
}
export function teardown(data) { console.log('over', data.ready); }

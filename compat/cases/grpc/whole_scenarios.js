// row: grpc.connect, grpc.Stream, grpc.invoke, http2
// order: any
import grpc from 'k6/net/grpc';
import http from 'k6/http';
import { check } from 'k6';
import exec from 'k6/execution';
// One scenario with HTTP, one with calls, one with streams.
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = {
  scenarios: {
    pages: { executor: 'per-vu-iterations', vus: 2, iterations: 3, exec: 'pages' },
    calls: { executor: 'shared-iterations', vus: 2, iterations: 6, exec: 'calls', tags: { kind: 'calls' } },
    streams: { executor: 'per-vu-iterations', vus: 1, iterations: 2, exec: 'streams', startTime: '100ms' },
  },
  thresholds: {
    'http_reqs{scenario:pages}': ['count==6'],
    'grpc_req_duration{kind:calls}': ['max<20000'],
    'grpc_req_duration{scenario:streams}': ['max<20000'],
    'grpc_streams_msgs_received{scenario:streams}': ['count==8'],
    checks: ['rate==1'],
  },
};
const connected = {};
function open() {
  if (!connected[exec.vu.idInTest]) connected[exec.vu.idInTest] = client.connect(__ENV.GRPC, { plaintext: true });
}
export function pages() { check(http.get(`${__ENV.BASE}/get?page=1`), { 200: (r) => r.status === 200 }); }
export async function calls() {
  open();
  const answers = await Promise.all([client.asyncInvoke('shop.Shop/Echo', { anInt64: '1' }), client.asyncInvoke('shop.Shop/Echo', { anInt64: '2' })]);
  check(answers, { both: (a) => a[0].message.anInt64 === '1' && a[1].message.anInt64 === '2' });
}
export function streams() {
  open();
  const stream = new grpc.Stream(client, 'shop.Shop/Chat', { metadata: { 'x-own': 'yes' } });
  let seen = 0;
  stream.on('data', () => { seen += 1; if (seen === 4) stream.end(); });
  stream.on('end', () => check(seen, { 'all came': (n) => n === 4 }));
  ['a', 'b', 'c', 'd'].forEach((name) => stream.write({ name }));
}

// row: grpc.Stream
import grpc from 'k6/net/grpc';
// The stream is never ended: the iteration waits for it, until the time of the scenario is over.
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { scenarios: { s: { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: '1s', gracefulStop: '0s' } } };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/Watch');
  stream.on('data', (item) => console.log('data', item.count));
  stream.on('error', (error) => console.log('error', Number(error.code)));
  stream.on('end', () => console.log('end'));
  stream.write({ count: 1 });
  console.log('returns');
}

// row: grpc.Stream, grpc.connect
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true, maxSendSize: 20 });
  const stream = new grpc.Stream(client, 'shop.Shop/Sum');
  stream.on('data', (item) => console.log('data', show(item)));
  // k6 tells of the failure twice, as it ends what it sends and what it receives.
  let told = 0;
  stream.on('error', (error) => { told += 1; if (told === 1) console.log('error', show(error)); });
  stream.on('end', () => console.log('end'));
  stream.write({ name: 'longer than twenty bytes' });
  stream.end();
}

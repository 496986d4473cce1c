// row: grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/Chat');
  stream.on('data', (item) => console.log('data', show(item)));
  stream.on('error', (error) => { console.log('error', show(error)); });
  stream.on('end', () => console.log('end'));
  stream.write({ name: 'one' });
  stream.write({ name: 'fail' });
}

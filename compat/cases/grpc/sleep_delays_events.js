// row: grpc.Stream
import grpc from 'k6/net/grpc';
import { sleep } from 'k6';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  stream.on('data', (item) => console.log('data', item.count));
  stream.on('end', () => console.log('end'));
  stream.write({ count: 2 });
  stream.end();
  sleep(0.2);
  console.log('slept');
  Promise.resolve().then(() => console.log('promise'));
}

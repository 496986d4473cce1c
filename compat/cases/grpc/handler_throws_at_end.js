// row: grpc.Stream
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { iterations: 2, vus: 1 };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  stream.on('data', (item) => console.log('data', item.count));
  stream.on('end', () => { console.log('end'); throw new Error('of a handler'); });
  stream.write({ count: 1 });
  stream.end();
}

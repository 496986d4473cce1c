// row: grpc.Stream
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { iterations: 2, vus: 1 };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  stream.on('data', (item) => { console.log('data', item.count); throw new Error('of a handler'); });
  // k6 can tell of the cancelled call as well.
  stream.on('error', (error) => { if (!error.message.startsWith('canceled')) console.log('error', Number(error.code), error.message.split(' at ')[0]); });
  stream.on('end', () => console.log('end'));
  stream.write({ count: 1 });
  stream.end();
}

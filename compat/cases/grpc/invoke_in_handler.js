// row: grpc.Stream, grpc.invoke
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  stream.on('data', (item) => console.log('data', item.count, client.invoke('shop.Shop/Echo', { anInt32: item.count }).message.anInt32));
  stream.on('end', () => console.log('end', Number(client.invoke('shop.Shop/Who', {}).status)));
  stream.write({ count: 2 });
  stream.end();
}

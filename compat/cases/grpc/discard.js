// row: grpc.invoke, grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const params = { discardResponseMessage: true, metadata: { 'x-a': 'b' } };
  const answer = client.invoke('shop.Shop/Echo', { aString: 'a' }, params);
  console.log(Number(answer.status), answer.message, show(answer), Object.keys(answer).sort().join());
  console.log(show(client.invoke('shop.Shop/Fail', { code: 5, message: 'no' }, params)));
  const stream = new grpc.Stream(client, 'shop.Shop/List', params);
  stream.on('data', (item) => console.log('data', typeof item, show(item)));
  stream.on('end', () => console.log('end'));
  stream.write({ count: 2 });
  stream.end();
}

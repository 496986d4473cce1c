// row: grpc.invoke, grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const m = client.invoke('shop.Shop/Echo', { aDouble: NaN, aFloat: Infinity, doubles: [NaN, -Infinity, 1], aString: 'NaN' }).message;
  console.log(typeof m.aDouble, m.aDouble, m.aFloat, show(m.doubles), m.aString);
  console.log(client.invoke('shop.Shop/Echo', { aDouble: 'NaN' }).message.aDouble, Object.is(client.invoke('shop.Shop/Echo', { aDouble: -0 }).message.aDouble, -0));
  const stream = new grpc.Stream(client, 'shop.Shop/Chat');
  stream.on('data', (item) => console.log('data', show(item)));
  stream.on('error', (error) => console.log('error', Number(error.code)));
  stream.on('end', () => console.log('end'));
  stream.write({ name: 'number', count: NaN });
  stream.end();
}

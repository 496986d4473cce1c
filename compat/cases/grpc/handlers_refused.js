// row: grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  attempt('unknown', () => stream.on('nowhere', () => {}));
  attempt('no handler', () => stream.on('data'));
  attempt('null', () => stream.on('data', null));
  attempt('text', () => stream.on('data', 'text'));
  stream.on('data', (item) => console.log('data', item.count));
  stream.on('end', () => console.log('end'));
  stream.write({ count: 1 });
  stream.end();
}

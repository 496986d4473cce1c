// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const echo = (any) => client.invoke('shop.Shop/Echo', { any }).message.any;
  attempt('own', () => echo({ '@type': 'type.googleapis.com/shop.Item', name: 'a', count: 0 }));
  attempt('short', () => echo({ '@type': 'shop.Item', name: 'a' }));
  attempt('other host', () => echo({ '@type': 'example.test/shop.Item', name: 'a' }));
  attempt('nested', () => echo({ '@type': 'type.googleapis.com/shop.Everything', any: { '@type': 'type.googleapis.com/shop.Size', bytes: 3 } }).any);
  attempt('word', () => echo({ '@type': 'type.googleapis.com/google.protobuf.StringValue', value: 'w' }));
  attempt('duration', () => echo({ '@type': 'type.googleapis.com/google.protobuf.Duration', value: '1.5s' }));
  attempt('struct', () => echo({ '@type': 'type.googleapis.com/google.protobuf.Struct', value: { a: 1 } }));
  attempt('imported', () => echo({ '@type': 'type.googleapis.com/common.Money', units: 3 }));
  attempt('empty', () => echo({}));
}

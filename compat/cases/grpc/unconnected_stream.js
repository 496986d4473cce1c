// row: grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  attempt('unconnected', () => new grpc.Stream(client, 'shop.Shop/Chat'));
  client.connect(__ENV.GRPC, { plaintext: true });
  attempt('no client', () => new grpc.Stream());
  attempt('null', () => new grpc.Stream(null, 'shop.Shop/Chat'));
  attempt('another object', () => new grpc.Stream({}, 'shop.Shop/Chat'));
  attempt('no method', () => new grpc.Stream(client));
  attempt('empty method', () => new grpc.Stream(client, ''));
  attempt('unknown method', () => new grpc.Stream(client, 'shop.Shop/Nowhere'));
}

// row: grpc.Stream, grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/Who');
  stream.on('data', (caller) => console.log('data', caller.path));
  stream.on('error', (error) => console.log('error', show(error)));
  stream.on('end', () => console.log('end'));
  stream.write({});
  stream.end();
  attempt('stream as unary', () => { const a = client.invoke('shop.Shop/List', { count: 1 }); return [Number(a.status), a.message, a.error]; });
  attempt('stream of two as unary', () => { const a = client.invoke('shop.Shop/List', { count: 2 }); return [Number(a.status), a.message, a.error]; });
  attempt('stream of none as unary', () => { const a = client.invoke('shop.Shop/List', {}); return [Number(a.status), a.message, a.error]; });
}

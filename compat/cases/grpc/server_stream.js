// row: grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List', { metadata: { 'x-own': 'a' } });
  console.log(Object.keys(stream).sort().join(), typeof stream.on, typeof stream.write, typeof stream.end, stream instanceof grpc.Stream);
  stream.on('data', (item, meta) => console.log('data', show(item), Object.keys(meta).join(), typeof meta.ts, Number.isInteger(meta.ts), Math.abs(meta.ts - Date.now() / 1000) < 5));
  stream.on('data', (item) => console.log('second listener', item.count));
  stream.on('error', (error) => console.log('error', show(error)));
  stream.on('end', (value, meta) => console.log('end', show(value), Object.keys(meta || {}).join()));
  console.log(stream.write({ count: 3 }), stream.end());
  console.log('set up');
}

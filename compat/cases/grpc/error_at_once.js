// row: grpc.Stream
// lines: any
// loose: grpc_streams_msgs_sent
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  for (const fault of ['http-503', 'http-401', 'status-16', 'bare']) {
    const stream = new grpc.Stream(client, 'shop.Shop/List', { metadata: { 'x-fault': fault } });
    stream.on('data', (item) => console.log(fault, 'data', show(item)));
    stream.on('error', (error) => console.log(fault, 'error', Number(error.code)));
    stream.on('end', () => console.log(fault, 'end'));
    stream.write({ count: 1 });
    stream.end();
  }
}

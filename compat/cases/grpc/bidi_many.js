// row: grpc.Stream
// lines: any
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { thresholds: { grpc_streams: ['count==3'], grpc_streams_msgs_sent: ['count==150'], grpc_streams_msgs_received: ['count==150'] } };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  for (const name of ['a', 'b', 'c']) {
    const stream = new grpc.Stream(client, 'shop.Shop/Chat');
    const seen = [];
    stream.on('data', (item) => { seen.push(item.count); });
    stream.on('end', () => console.log(name, seen.length, seen.every((count, place) => count === place)));
    for (let count = 0; count < 50; count += 1) stream.write({ name, count });
    stream.end();
  }
}

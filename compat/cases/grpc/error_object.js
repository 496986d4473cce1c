// row: grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  stream.on('error', (error) => {
    console.log(Object.keys(error).sort().join(), error.code === grpc.StatusFailedPrecondition, Number(error.code) == 9, error.message, error instanceof Error);
    console.log(JSON.stringify(error.details), show(error));
  });
  stream.write({ count: 0, code: 9, message: 'no' });
  stream.end();
}

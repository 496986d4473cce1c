// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
// The detail is of a type that no file describes.
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const answer = client.invoke('shop.Shop/Who', {}, { metadata: { 'x-fault': 'details-5' } });
  console.log(Number(Number(answer.status)), show(answer.error), Object.keys(answer.trailers).sort().join());
}

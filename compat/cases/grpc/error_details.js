// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const known = { '@type': 'type.googleapis.com/shop.Item', name: 'what is missing', count: 3 };
  const words = { '@type': 'type.googleapis.com/google.protobuf.StringValue', value: 'a word' };
  const answer = client.invoke('shop.Shop/Fail', { code: 5, message: 'gone', details: [known, words] });
  console.log(Number(answer.status), show(answer.error), Array.isArray(answer.error.details));
  console.log(Object.keys(answer.trailers).sort().join());
  const late = client.invoke('shop.Shop/Fail', { code: 5, message: 'gone', details: [known], late: true });
  console.log(Number(late.status), show(late.error));
}

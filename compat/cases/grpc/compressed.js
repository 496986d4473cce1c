// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const answer = client.invoke('shop.Shop/Echo', { aString: 'a'.repeat(2000) }, { metadata: { 'x-zip': 'yes' } });
  console.log(Number(answer.status), answer.message.aString.length, show(answer.headers));
}

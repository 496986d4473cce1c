// row: grpc.close, grpc.asyncInvoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default async function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  await client.asyncInvoke('shop.Shop/Who', {});
  const waiting = client.asyncInvoke('shop.Shop/Wait', { millis: 3000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  client.close();
  const answer = await waiting;
  console.log(Number(answer.status), show(answer.error));
}

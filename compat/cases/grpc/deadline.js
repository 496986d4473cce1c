// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const late = client.invoke('shop.Shop/Wait', { millis: 5000 }, { timeout: '150ms' });
  console.log(Number(late.status), late.status === grpc.StatusDeadlineExceeded, show(late.error), show(late.message), show(late.headers), show(late.trailers));
  const number = client.invoke('shop.Shop/Wait', { millis: 5000 }, { timeout: 150 });
  console.log(Number(number.status));
  console.log(Number(client.invoke('shop.Shop/Wait', { millis: 20 }, { timeout: '20s' }).status));
  const answer = client.invoke('shop.Shop/Wait', { millis: 5000 }, { timeout: '1us' });
  console.log(Number(answer.status), answer.error.message);
}

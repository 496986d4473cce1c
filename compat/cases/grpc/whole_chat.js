// row: grpc.Stream
// order: any
import grpc from 'k6/net/grpc';
import { check, sleep } from 'k6';
// A conversation with pauses, by timers, and a check at its end.
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { vus: 2, iterations: 2 };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const stream = new grpc.Stream(client, 'shop.Shop/Chat', { tags: { talk: 'yes' } });
  const heard = [];
  stream.on('data', (item) => heard.push(item.name));
  stream.on('error', (error) => console.log('error', error.message));
  stream.on('end', () => { check(heard, { 'in order': (h) => h.join() === 'hello,how are you,bye now' }); client.close(); });
  stream.write({ name: 'hello' });
  setTimeout(() => stream.write({ name: 'how are you' }), 50);
  setTimeout(() => { stream.write({ name: 'bye now' }); stream.end(); }, 100);
  sleep(0.01);
}

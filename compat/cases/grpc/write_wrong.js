// row: grpc.Stream
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  client.invoke('shop.Shop/Who', {});
  const stream = new grpc.Stream(client, 'shop.Shop/Chat', { timeout: '500ms' });
  stream.on('data', (item) => { console.log('data', show(item)); stream.write({ unheardOf: 1 }); });
  // k6 tells of a failure twice, as it ends what it sends and, when the time is over, what it receives.
  let told = 0;
  stream.on('error', (error) => { told += 1; if (told === 1) console.log('error', Number(error.code) == 2, error.message.split(':')[0], show(error.details)); });
  stream.on('end', () => console.log('end'));
  stream.write(null);
  stream.write(undefined);
  stream.write();
  stream.write({ name: 'good' });
}

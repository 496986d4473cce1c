// row: grpc.close
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  attempt('before connect', () => client.close());
  client.connect(__ENV.GRPC, { plaintext: true });
  client.invoke('shop.Shop/Who', {});
  attempt('close', () => client.close());
  attempt('again', () => client.close());
  attempt('invoke', () => client.invoke('shop.Shop/Who', {}));
  attempt('Stream', () => new grpc.Stream(client, 'shop.Shop/Chat'));
  attempt('connect', () => client.connect(__ENV.GRPC, { plaintext: true }));
  attempt('connect while connected', () => client.connect(__ENV.GRPC, { plaintext: true }));
  attempt('invoke', () => Number(client.invoke('shop.Shop/Who', {}).status));
}

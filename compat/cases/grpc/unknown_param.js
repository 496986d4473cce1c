// row: grpc.invoke, grpc.Stream
// order: any
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const bad = [
    { own: 1 }, { timeout: 'soon' }, { timeout: {} }, { metadata: 1 }, { metadata: { a: 1 } }, { metadata: { a: ['b'] } }, { metadata: { 'a-bin': 'text' } },
    { tags: 1 }, { tags: { a: {} } }, { headers: { a: 'b' } },
  ];
  for (const params of bad) {
    attempt(`invoke ${JSON.stringify(params)}`, () => Number(client.invoke('shop.Shop/Echo', {}, params).status));
    attempt(`Stream ${JSON.stringify(params)}`, () => { new grpc.Stream(client, 'shop.Shop/Chat', params).end(); return 'open'; });
  }
  for (const params of [null, undefined, {}, { metadata: null }, { tags: null }, { timeout: 0 }, { timeout: 1000 }, { discardResponseMessage: 'yes' }]) {
    attempt(`invoke ${JSON.stringify(params)}`, () => Number(client.invoke('shop.Shop/Who', {}, params).status));
  }
}

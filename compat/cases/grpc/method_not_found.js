// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  for (const name of ['shop.Shop/Nowhere', '/shop.Shop/Nowhere', 'Shop/Echo', 'shop.Shop.Echo', 'shop.Shop/echo', '', ' shop.Shop/Echo', '//shop.Shop/Echo', undefined, null, 5]) {
    attempt(String(name), () => client.invoke(name, {}));
  }
  attempt('no file', () => { const other = new grpc.Client(); other.connect(__ENV.GRPC, { plaintext: true }); return other.invoke('shop.Shop/Echo', {}); });
  attempt('unknown to the server', () => { const a = client.invoke('shop.Shop/Missing', {}); return [Number(a.status), a.error, a.message]; });
}

// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto', 'parcel.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  attempt('asked', () => client.invoke('shop.Shop/Echo', { unheardOf: 1 }));
  attempt('nested', () => client.invoke('shop.Shop/Echo', { inner: { unheardOf: 1 } }));
}

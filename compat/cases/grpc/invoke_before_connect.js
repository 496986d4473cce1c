// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  attempt('invoke', () => client.invoke('shop.Shop/Who', {}));
  try { client.invoke('shop.Shop/Who', {}); } catch (error) { console.log(String(error), error instanceof Error, typeof error); }
  client.invoke('shop.Shop/Who', {});
  console.log('not reached');
}

// row: grpc.connect
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  attempt('no listener', () => client.connect('127.0.0.1:1', { plaintext: true, timeout: '2s' }));
  attempt('invoke after that', () => client.invoke('shop.Shop/Echo', {}));
  attempt('connect again', () => client.connect(__ENV.GRPC, { plaintext: true }));
  attempt('invoke', () => Number(client.invoke('shop.Shop/Who', {}).status));
}

// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const metadata = { 'x-own-bin': new Uint8Array([0, 1, 250, 255]), 't-own-bin': new Uint8Array([104, 105]) };
  attempt('Uint8Array', () => { const a = client.invoke('shop.Shop/Echo', {}, { metadata }); return [Number(a.status), Object.keys(a.headers).sort(), Object.keys(a.trailers), a.headers['x-own-bin'].length, a.trailers['t-own-bin'][0]]; });
  attempt('ArrayBuffer', () => Number(client.invoke('shop.Shop/Echo', {}, { metadata: { 'x-own-bin': new Uint8Array([1]).buffer } }).status));
  attempt('text', () => Number(client.invoke('shop.Shop/Echo', {}, { metadata: { 'x-own-bin': 'text' } }).status));
  attempt('list', () => Number(client.invoke('shop.Shop/Echo', {}, { metadata: { 'x-own-bin': [1, 2] } }).status));
}

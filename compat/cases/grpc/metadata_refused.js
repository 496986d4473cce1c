// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const odd = [{ 'x-letters': 'ä' }, { 'x-line': 'a\nb' }, { 'x space': 'a' }, { '': 'a' }, { 'grpc-own': 'a' }, { ':path': '/x' }, { 'content-type': 'text/plain' }, { te: 'own' }, { 'user-agent': 'own' }, { 'grpc-timeout': '1S' }, { host: 'own' }];
  for (const metadata of odd) attempt(JSON.stringify(metadata), () => { const a = client.invoke('shop.Shop/Echo', {}, { metadata }); return [Number(a.status), a.error]; });
}

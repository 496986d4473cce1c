// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const answer = client.invoke('shop.Shop/Echo', {}, { metadata: { 'x-one': '1', 'X-Upper': 'Kept', 't-two': '2', 't-Three': 'three words' } });
  console.log(Number(answer.status), show(answer.headers), show(answer.trailers), Array.isArray(answer.headers['x-one']), answer.headers['X-One']);
  const odd = { 'x-empty': '', 'x-spaces': '  a  b  ', 'x-tab': 'a\tb' };
  for (const name of Object.keys(odd)) attempt(name, () => { const a = client.invoke('shop.Shop/Echo', {}, { metadata: { [name]: odd[name] } }); return [Number(a.status), a.headers, a.error]; });
}

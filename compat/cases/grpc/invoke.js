// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  console.log(client.connect(__ENV.GRPC, { plaintext: true }));
  const answer = client.invoke('shop.Shop/Echo', { a_string: 'snake', anInt32: 5, inner: { name: 'in', children: [{ name: 'child' }] }, words: ['a', 'b'], stock: { x: 1, y: '2' }, text: 'chosen' });
  console.log(Object.keys(answer).sort().join(), answer.status === grpc.StatusOK, answer.error, show(answer.headers), show(answer.trailers));
  const m = answer.message;
  console.log(m.aString, m.a_string, m.anInt32, show(m.inner), show(m.words), show(m.stock), m.text, m.number);
  console.log(show(client.invoke('/shop.Shop/Who', {})).split(__ENV.GRPC).join('GRPC'));
  console.log(typeof answer, typeof m, Array.isArray(m.words), m.words.length, m.nothingThere);
  m.added = 1;
  answer.message = m.inner;
  console.log(m.added, answer.message.name);
  console.log(client.invoke('shop.Shop/Echo', { aString: 'é € 𝄞 \n "q"' }).message.aString);
}

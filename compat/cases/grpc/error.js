// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  for (let code = 1; code <= 17; code += 1) {
    const answer = client.invoke('shop.Shop/Fail', { code, message: `no ${code}` });
    console.log(Number(answer.status), show(answer.error), show(answer.message), show(answer.headers), show(answer.trailers));
  }
  const late = client.invoke('shop.Shop/Fail', { code: 9, message: 'late', late: true }, { metadata: { 'x-a': '1', 't-b': '2' } });
  console.log(Number(late.status), show(late.error), show(late.headers), show(late.trailers));
  const early = client.invoke('shop.Shop/Fail', { code: 9, message: 'early' }, { metadata: { 'x-a': '1', 't-b': '2' } });
  console.log(Number(early.status), show(early.error), show(early.headers), show(early.trailers));
  const words = client.invoke('shop.Shop/Fail', { code: 3, message: 'größe 100% €\n' });
  console.log(show(words.error), Object.keys(words).sort().join(), typeof words.error.code);
  console.log(client.invoke('shop.Shop/Fail', { code: 5 }).error.message === '');
}

// row: grpc.asyncInvoke
// order: any
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default async function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const promise = client.asyncInvoke('shop.Shop/Wait', { millis: 100 });
  console.log(promise instanceof Promise, 'asked');
  const answers = await Promise.all([promise, client.asyncInvoke('shop.Shop/Echo', { aString: 'two' }), client.asyncInvoke('/shop.Shop/Fail', { code: 5, message: 'no' })]);
  console.log(answers.map((one) => Number(one.status)).join(), answers[1].message.aString, answers[2].error.message);
  const late = await client.asyncInvoke('shop.Shop/Wait', { millis: 5000 }, { timeout: '100ms' });
  console.log(Number(late.status), late.error.message);
  const order = [];
  await Promise.all([client.asyncInvoke('shop.Shop/Wait', { millis: 200 }).then(() => order.push('slow')), client.asyncInvoke('shop.Shop/Wait', { millis: 0 }).then(() => order.push('fast'))]);
  console.log(order.join());
  for (const words of [['shop.Shop/Nowhere', {}], ['', {}], ['shop.Shop/Echo', null], ['shop.Shop/Echo'], ['shop.Shop/Echo', {}, { own: 1 }]]) {
    let thrown = 'rejected';
    try {
      const asked = client.asyncInvoke(...words);
      await asked.catch((error) => console.log(JSON.stringify(words), thrown, `${error}`.replace('GoError: ', '')));
    } catch (error) {
      thrown = 'threw';
      console.log(JSON.stringify(words), thrown, error.message);
    }
  }
  try { await client.asyncInvoke('shop.Shop/Echo', { unheardOf: 1 }); } catch (error) { console.log(`${error}`.replace('GoError: ', '').split(':')[0]); }
  client.asyncInvoke('shop.Shop/Wait', { millis: 150 }).then((answer) => console.log('not awaited', Number(answer.status)));
  const other = new grpc.Client();
  await other.asyncInvoke('shop.Shop/Echo', {}).catch((error) => console.log('unconnected', `${error}`.replace('GoError: ', '')));
}

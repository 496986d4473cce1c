// row: grpc.invoke
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
// The library that k6 uses varies spaces in its messages at random; what follows the first colon is not compared.
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const bad = [
    { nothingLikeIt: 1 }, { anInt32: 'x' }, { anInt32: 1.5 }, { anInt32: 3e9 }, { anInt32: true }, { aUint32: -1 }, { aBool: 'true' }, { aBool: 1 }, { aString: 1 },
    { someBytes: 'not base64!' }, { someBytes: 1 }, { colour: 'GREEN' }, { colour: 1.5 }, { inner: 'text' }, { inner: [] }, { words: 'a' },
    { words: { 0: 'a' } }, { words: [null] }, { parts: [null] }, { stock: [] }, { stock: { a: 'x' } }, { names: { x: 'a' } }, { flags: { yes: 1 } },
    { text: 'a', number: 1 }, { a_string: 'a', aString: 'b' }, { at: 'yesterday' }, { lasts: '1 minute' }, { any: { aString: 'x' } }, { any: { '@type': 'nowhere.Type' } },
    { mask: 5 }, { aDouble: 'x' }, { anInt64: '1e400' }, { anInt64: '9223372036854775808' }, { boxedBool: 'x' },
  ];
  for (const req of bad) {
    try {
      console.log(JSON.stringify(req), 'status', Number(client.invoke('shop.Shop/Echo', req).status));
    } catch (error) {
      console.log(JSON.stringify(req), 'threw', error.message.split(':')[0]);
    }
  }
}

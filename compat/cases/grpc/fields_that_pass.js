// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const good = [
    { anInt32: '5' }, { anInt32: 5.0 }, { anInt32: '5.0' }, { anInt32: '1e2' }, { anInt32: 1e2 }, { aUint32: 4294967295 }, { aDouble: '1.5' }, { aDouble: 1e300 }, { aFloat: 0.1 }, { aFloat: 16777217 },
    { someBytes: 'YWI' }, { someBytes: 'YWI=' }, { someBytes: '_-8=' }, { someBytes: '' }, { colour: 2 }, { colour: 'COLOUR_RED' }, { colour: 77 }, { inner: {} }, { inner: null }, { words: null }, { stock: null },
    { flags: { true: 1, false: 'COLOUR_BLUE' } }, { names: { '-3': 'a' } }, { maybeNumber: 0 }, { maybeText: '' }, { maybeColour: 0 }, { calledOtherwise: 'a' }, { renamed: 'b' },
    { at: '2024-01-01T00:00:00.123456789+02:00' }, { lasts: '-1.5s' }, { lasts: '3s' }, { mask: 'aString,inner.name' }, { boxedBool: false }, { boxedText: '' }, { boxedNumber: 5 },
    { nothing: null }, { value: null }, { value: 1.5 }, { value: { a: [1, 'x', null, true] } }, { list: [1, [2]] }, { fields: { a: null, b: { c: 1 } } }, { empty: {} },
    { number: 0 }, { text: '' }, { part: {} }, { anInt64: '-9223372036854775808' }, { aUint64: '18446744073709551615' }, { anInt64: 9007199254740993 }, { anInt64: '1e3' },
  ];
  // Only what is not as in an empty message is shown.
  const empty = client.invoke('shop.Shop/Echo', {}).message;
  for (const req of good) {
    try {
      const { message } = client.invoke('shop.Shop/Echo', req);
      const set = Object.entries(message).filter(([name, value]) => show(value) !== show(empty[name]));
      console.log(show(req), show(Object.fromEntries(set)));
    } catch (error) {
      console.log(show(req), 'threw', error.message.split(':')[0]);
    }
  }
}

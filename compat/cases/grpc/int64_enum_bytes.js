// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const { message: m } = client.invoke('shop.Shop/Echo', {
    anInt64: '-9007199254740993', aUint64: '18446744073709551615', aSint64: -5, aFixed64: 6, anSfixed64: '-7', aDouble: 1.25, aFloat: 0.1, aUint32: 4294967295,
    aSint32: -1, aFixed32: 2, anSfixed32: -3, colour: 'COLOUR_BLUE', colours: [1, 'COLOUR_NONE', 9], someBytes: '+/8=', pieces: ['YQ==', ''], aBool: true,
    stock: { a: '9223372036854775807' }, flags: { true: 2 }, doubles: [1, 0.5], numbers: [1, 2], number: 12,
  });
  for (const name of ['anInt64', 'aUint64', 'aSint64', 'aFixed64', 'anSfixed64', 'aDouble', 'aFloat', 'aUint32', 'aSint32', 'aFixed32', 'anSfixed32', 'colour', 'colours', 'someBytes', 'pieces', 'aBool', 'stock', 'flags', 'doubles', 'numbers', 'number']) {
    console.log(name, typeof m[name], show(m[name]));
  }
}

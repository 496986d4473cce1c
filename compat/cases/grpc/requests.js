// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
class Item { constructor() { this.aString = 'of a class'; } get anInt32() { return 7; } }
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const echo = (req) => { const m = client.invoke('shop.Shop/Echo', req).message; return [m.aString, m.anInt32, m.anInt64, show(m.inner), show(m.words)]; };
  attempt('nothing', () => echo());
  attempt('one argument', () => client.invoke('shop.Shop/Echo'));
  attempt('null', () => echo(null));
  attempt('text', () => echo('text'));
  attempt('number', () => echo(1));
  attempt('list', () => echo([]));
  attempt('list of one', () => echo([{ aString: 'a' }]));
  attempt('function', () => echo(() => {}));
  attempt('class', () => echo(new Item()));
  attempt('toJSON', () => echo({ toJSON: () => ({ aString: 'replaced' }) }));
  attempt('inner toJSON', () => echo({ inner: { toJSON: () => ({ name: 'replaced' }) } }));
  attempt('undefined field', () => echo({ aString: undefined, inner: null }));
  attempt('date', () => echo({ aString: new Date(0) }));
  attempt('map', () => echo(new Map([['aString', 'x']])));
  attempt('object from JSON', () => echo(JSON.parse('{"aString":"parsed"}')));
  const round = {}; round.inner = { children: [round] };
  attempt('cyclic', () => echo(round));
  attempt('bigint', () => echo({ anInt64: 5n }));
}

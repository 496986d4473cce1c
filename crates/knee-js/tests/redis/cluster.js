// Commands to a cluster of three servers, whose ports are in PORTS, the first of them with the lowest slots.
import { Client } from 'k6/experimental/redis';

const ports = __ENV.PORTS.split(',');
const urls = ports.map((port) => `redis://127.0.0.1:${port}`);
const cluster = new Client({ cluster: { nodes: urls.slice(0, 2), maxRedirects: 5 } });
const objects = new Client({ cluster: { nodes: ports.map((port) => ({ socket: { host: '127.0.0.1', port: Number(port) } })) } });
const reader = new Client({ cluster: { nodes: urls, readOnly: true } });
const random = new Client({ cluster: { nodes: urls, routeRandomly: true } });
const fastest = new Client({ cluster: { nodes: urls, routeByLatency: true } });
const one = new Client({ cluster: { nodes: urls.slice(0, 1) } });
const never = new Client({ cluster: { nodes: urls, maxRedirects: -1 } });
const nodes = urls.map((url) => new Client(url));
const dead = new Client({ cluster: { nodes: ['redis://127.0.0.1:1', 'redis://127.0.0.1:1'] } });
const half = new Client({ cluster: { nodes: ['redis://127.0.0.1:1?dial_timeout=1s', urls[0]] } });
const plain = new Client({ cluster: { nodes: [__ENV.PLAIN, __ENV.PLAIN] } });

const said = (error) => String(error).replace(/127\.0\.0\.1:[1-9]\d+/g, 'SERVER');
const tell = async (name, call) => {
  try {
    console.log(name, JSON.stringify(await call()));
  } catch (error) {
    console.log(name, 'rejected', said(error));
  }
};
// The slots of these keys are those of the first, the third and the second server.
const keys = ['b', 'a', 'c'];

export default async function () {
  for (const client of [cluster, objects, reader, random, fastest, half]) {
    await tell('keys', async () => {
      for (let n = 0; n < 40; n++) await client.set(`key-${n}`, n);
      const values = [];
      for (let n = 0; n < 40; n++) values.push(await client.get(`key-${n}`));
      return values.map((value, n) => Number(value) === n).every(Boolean);
    });
  }
  await Promise.all(Array.from({ length: 100 }, (_, n) => cluster.incr(`count-${n % 7}`)));
  await tell('at once', async () => Number(await cluster.get('count-0')));
  await tell('one slot', async () => [await cluster.set('{x}1', 1), await cluster.mget('{x}1', '{x}2')]);
  await tell('slots', () => cluster.mget(...keys));
  await tell('hash', async () => [await cluster.hset('h', 'f', 'v'), await cluster.hgetall('h')]);
  await tell('missing', () => cluster.get('nothing'));
  await tell('wrong kind', () => cluster.incr('h'));
  await tell('keyless', async () => [await cluster.sendCommand('PING'), typeof await cluster.sendCommand('DBSIZE')]);
  await tell('script', () => cluster.sendCommand('EVAL', 'return redis.call("get", KEYS[1])', 1, '{x}1'));
  await tell('one address', async () => [await one.set('b', 1), await one.set('a', 1)]);
  await tell('no database', () => new Client({ cluster: { nodes: urls.map((url) => `${url}/3`) } }).get('{x}1'));
  await tell('dead', () => dead.get('a'));
  await tell('plain', () => plain.get('a'));

  // A slot moves from the first server to the second one.
  const slot = Number(await nodes[0].sendCommand('CLUSTER', 'KEYSLOT', 'b'));
  const ids = await Promise.all(nodes.map((node) => node.sendCommand('CLUSTER', 'MYID')));
  await nodes[0].del('b');
  await cluster.set('b', 'before');
  await nodes[0].del('b');
  await nodes[1].sendCommand('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[0]);
  await nodes[0].sendCommand('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[1]);
  await tell('never on', () => never.set('b', 'on its way'));
  await tell('on its way', async () => [await cluster.set('b', 'on its way'), await cluster.get('b')]);
  await tell('asked there', () => nodes[1].get('b'));
  await nodes[1].sendCommand('CLUSTER', 'SETSLOT', slot, 'NODE', ids[1]);
  await nodes[0].sendCommand('CLUSTER', 'SETSLOT', slot, 'NODE', ids[1]);
  await tell('moved', async () => [await cluster.get('b'), await objects.get('b'), await nodes[1].get('b')]);
}

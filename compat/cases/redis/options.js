// row: redis.Client
import redis, { Client } from 'k6/experimental/redis';

const tried = (name, ...given) => {
  try {
    const client = new Client(...given);
    console.log(name, Object.keys(client).join(), client.isConnected());
  } catch (error) {
    console.log(name, error.name, error.message, error instanceof Error);
  }
};

export default function () {
  console.log(Object.keys(redis).join(), typeof Client);
  tried('none');
  tried('two', 'redis://a', 1);
  for (const value of [5, null, undefined, true, [], [1], 1.5]) tried('kind', value);
  for (const url of [
    '', 'a', 'http://a', 'redis://', 'redis://h', 'redis://h:1/x', 'redis://h:1/1/2', 'redis://h?db=x', 'redis://h?db=1',
    'redis://h?foo=1&bar=2', 'redis://h?dial_timeout=x', 'redis://h?dial_timeout=3s&read_timeout=5',
    'redis://h?max_retries=a', 'redis://h?pool_fifo=q', 'redis://h:x', 'redis://u:p@h:1/2', 'rediss://h', 'redis://%zz',
    'unix:',
  ]) tried(url, url);
  for (const object of [
    {}, { socket: {} }, { socket: null }, { socket: 5 }, { socket: [] }, { socket: 'a' }, { socket: { host: 'a', port: 1 } },
    { socket: { host: 5 } }, { socket: { port: 'x' } }, { socket: { port: 1.5 } }, { socket: { foo: 1 } }, { foo: 1 },
    { socket: {}, database: 'x' }, { socket: {}, username: 5 }, { socket: {}, username: true },
    { socket: {}, username: [] }, { socket: {}, username: {} }, { socket: {}, username: null },
    { socket: { tls: {} } }, { socket: { tls: { ca: 'x' } } }, { socket: { tls: { cert: 'x', key: 'y' } } },
    { socket: { dialTimeout: -1 } }, { socket: { Host: 'a', PORT: 5 } }, { cluster: { nodes: [] } }, { cluster: {} },
    { cluster: 5 }, { password: 1e30, socket: {} },
  ]) tried(JSON.stringify(object), object);
}

// row: redis.errors
import { Client } from 'k6/experimental/redis';

const client = new Client('redis://127.0.0.1:1?max_retries=-1&dial_timeout=2s');
if (__VU === 1) {
  client.get('a').then(() => console.log('got'), (error) => console.log('init', String(error), error instanceof Error));
}

export default async function () {
  for (const call of [
    () => client.get('a'),
    () => client.set('a', {}),
    () => client.set('a'),
    () => client.lpush('a', 1, null),
    () => client.hset('a', 'b', []),
    () => client.sendCommand('SET', 'a', undefined),
  ]) {
    const promise = call();
    try {
      await promise;
      console.log('fulfilled');
    } catch (error) {
      console.log(promise instanceof Promise, String(error), error.message, error instanceof Error, error.error());
    }
  }
  console.log(client.isConnected());
}

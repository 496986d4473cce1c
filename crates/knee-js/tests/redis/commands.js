// All functions of the client. commands.txt is what it says under k6 1.8.1 with Redis 7.0.
import { Client } from 'k6/experimental/redis';

const client = new Client(__ENV.REDIS);

const show = async (name, promise) => {
  try {
    const value = await promise;
    console.log(name, typeof value, Array.isArray(value), JSON.stringify(value));
  } catch (error) {
    console.log(name, 'rejected', String(error), error.message, error instanceof Error, Object.keys(error).join());
  }
};

export default async function () {
  await client.sendCommand('FLUSHALL');
  console.log(client.isConnected());
  await show('set', client.set('a', 'b', 0));
  await show('set no exp', client.set('a2', 'b'));
  await show('set exp', client.set('a3', 'b', 100));
  await show('ttl', client.ttl('a3'));
  await show('ttl none', client.ttl('a'));
  await show('ttl missing', client.ttl('zz'));
  await show('get', client.get('a'));
  await show('get missing', client.get('zz'));
  await show('get undefined', client.get(undefined));
  await show('get none', client.get());
  await show('get null', client.get(null));
  await show('get 5', client.get(5));
  for (const v of [1, 1.5, 1e21, 1e-7, NaN, Infinity, -0, true, false, '', 'ž', 12345678901234567890]) {
    await client.set('v', v, 0);
    await show('v ' + v, client.get('v'));
  }
  for (const v of [null, undefined, {}, [], [1], new Date(0), new Uint8Array(2), () => 1, Symbol('s'), 10n]) await show('bad', client.set('v', v, 0));
  await show('bad none', client.set('v'));
  await show('exp text', client.set('v', 'x', '7'));
  await show('exp neg', client.set('v', 'x', -7));
  await show('exp neg', client.ttl('v'));
  await show('exp frac', client.set('v', 'x', 1.7));
  await show('ttl', client.ttl('v'));
  await show('exp nan', client.set('v', 'x', 'abc'));
  await show('getSet', client.getSet('a', 'c'));
  await show('getSet missing', client.getSet('q1', 'c'));
  await show('getDel', client.getDel('a'));
  await show('getDel missing', client.getDel('a'));
  await show('del', client.del('a2', 'a3', 'zz'));
  await show('del none', client.del());
  await show('exists', client.exists('v', 'v', 'zz'));
  await show('incr', client.incr('n'));
  await show('incrBy', client.incrBy('n', 10));
  await show('incrBy frac', client.incrBy('n', 1.7));
  await show('incrBy text', client.incrBy('n', 'abc'));
  await show('decr', client.decr('n'));
  await show('decrBy', client.decrBy('n', 4));
  await show('incr text', client.incr('v'));
  await client.del('v');
  await show('randomKey', client.randomKey().then((k) => typeof k));
  await show('mget', client.mget('n', 'zz'));
  await show('expire', client.expire('n', 100));
  await show('expire missing', client.expire('zz', 100));
  await show('persist', client.persist('n'));
  await show('persist 2', client.persist('n'));
  await show('expire 0', client.expire('n', 0));
  await show('lpush', client.lpush('l', 'a', 1, true));
  await show('rpush', client.rpush('l', 'z'));
  await show('lpush bad', client.lpush('l', 'a', {}));
  await show('lpush none', client.lpush('l'));
  await show('lrange', client.lrange('l', 0, -1));
  await show('lrange missing', client.lrange('zz', 0, -1));
  await show('lindex', client.lindex('l', 0));
  await show('lindex far', client.lindex('l', 100));
  await show('lset', client.lset('l', 0, 'new'));
  await show('lset far', client.lset('l', 100, 'new'));
  await show('lset missing', client.lset('zz', 0, 'new'));
  await show('lrem', client.lrem('l', 1, 'a'));
  await show('llen', client.llen('l'));
  await show('lpop', client.lpop('l'));
  await show('rpop', client.rpop('l'));
  await show('lpop missing', client.lpop('zz'));
  await show('wrong type', client.get('l'));
  await show('hset', client.hset('h', 'f', 1));
  await show('hset bad', client.hset('h', 'f', {}));
  await show('hset none', client.hset('h', 'f'));
  await show('hsetnx', client.hsetnx('h', 'f', 'x'));
  await show('hsetnx2', client.hsetnx('h', 'g', 'x'));
  await show('hget', client.hget('h', 'f'));
  await show('hget missing', client.hget('h', 'zz'));
  await show('hgetall', client.hgetall('h'));
  await show('hgetall missing', client.hgetall('zz'));
  await show('hkeys', client.hkeys('h'));
  await show('hvals', client.hvals('h'));
  await show('hlen', client.hlen('h'));
  await show('hincrby', client.hincrby('h', 'f', 5));
  await show('hdel', client.hdel('h', 'f', 'zz'));
  await show('sadd', client.sadd('s', 'a', 1));
  await show('sismember', client.sismember('s', 1));
  await show('sismember no', client.sismember('s', 'q'));
  await show('sismember bad', client.sismember('s', {}));
  await show('smembers', client.smembers('s').then((l) => l.sort()));
  await show('srem', client.srem('s', 'a', 'q'));
  await show('srandmember', client.srandmember('s'));
  await show('spop', client.spop('s'));
  await show('spop missing', client.spop('s'));
  await show('srandmember missing', client.srandmember('s'));
  await show('randomKey', client.randomKey().then((k) => typeof k));
  await client.sendCommand('FLUSHALL');
  await show('randomKey none', client.randomKey());
  await show('send', client.sendCommand('ECHO', 'hi'));
  await show('send', client.sendCommand('SET', 'x', 5));
  await show('send nil', client.sendCommand('GET', 'zz'));
  await show('send int', client.sendCommand('INCR', 'x'));
  await show('send bad', client.sendCommand('FOO'));
  await show('send bad type', client.sendCommand('SET', 'x', {}));
  await show('send list', client.sendCommand('MGET', 'x', 'zz'));
  await show('send nested', client.sendCommand('EVAL', "return {1,{'a',false},'b',{err='ERR inner'}}", 0));
  await show('send eval err', client.sendCommand('EVAL', "return {err='MY own'}", 0));
  await show('send bool', client.sendCommand('EVAL', "return true", 0));
  await show('send none', client.sendCommand());
  console.log(client.get('x') instanceof Promise);
  const order = [];
  await Promise.all([client.set('o', 1).then(() => order.push(1)), client.set('o', 2).then(() => order.push(2))]);
  console.log(order.length);
  const texts = await Promise.all(Array.from({ length: 100 }, (_, i) => client.sendCommand('ECHO', `${i}`)));
  console.log(texts.every((text, i) => text === `${i}`));
}

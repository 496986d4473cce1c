// Commands to the server that a sentinel knows as `shop`. The port of the sentinel is in SENTINEL.
import { Client } from 'k6/experimental/redis';

const socket = { host: '127.0.0.1', port: Number(__ENV.SENTINEL) };
const client = new Client({ masterName: 'shop', socket, database: 2, password: 'secret' });
const other = new Client({ masterName: 'other', socket, maxRetries: -1 });
const dead = new Client({ masterName: 'shop', socket: { host: '127.0.0.1', port: 1 }, maxRetries: -1 });
// A sentinel without a password takes any, and the server does not.
const wrong = new Client({ masterName: 'shop', socket, maxRetries: -1, sentinelPassword: 'any' });

const tell = async (name, call) => {
  try {
    console.log(name, JSON.stringify(await call()));
  } catch (error) {
    console.log(name, 'rejected', String(error));
  }
};

export default async function () {
  await tell('set', () => client.set('a', 1));
  await tell('get', () => client.get('a'));
  await tell('moved', () => client.sendCommand('MOVE', 'a', 0));
  await tell('other', () => other.get('a'));
  await tell('dead', () => dead.get('a'));
  await tell('no password', () => wrong.get('a'));
}

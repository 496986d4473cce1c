// row: redis.Client
import { Client } from 'k6/experimental/redis';

const tried = (object) => {
  const name = JSON.stringify(object);
  try {
    const client = new Client(object);
    console.log(name, client.isConnected());
  } catch (error) {
    console.log(name, error.name, error.message);
  }
};
const node = (rest, socket) => ({ socket: { host: 'a', port: 1, ...socket }, ...rest });
const nodes = [node(), node()];

export default function () {
  for (const value of [undefined, null, 5, 1.5, 'a', {}, [], [5], [1.5], [null], [[]], [true]]) tried({ cluster: { nodes: value } });
  tried({ cluster: { nodes }, foo: 1 });
  tried({ cluster: { nodes, foo: 1 } });
  tried({ cluster: { nodes, maxRedirects: 'a' } });
  tried({ cluster: { nodes, readOnly: 1 } });
  tried({ cluster: { nodes, routeByLatency: 'x' } });
  tried({ cluster: { nodes, routeRandomly: [] } });
  tried({ cluster: { nodes, MAXREDIRECTS: 3, readonly: null } });
  tried({ cluster: { nodes: [{}] } });
  tried({ cluster: { nodes: [{ foo: 1 }] } });
  tried({ cluster: { nodes: [node({ username: 5 })] } });
  tried({ cluster: { nodes: [node({}, { port: 'x' })] } });
  tried({ cluster: { nodes: [node(), 'redis://a'] } });
  tried({ cluster: { nodes: [node(), 5] } });
  tried({ cluster: { nodes: ['redis://a', 5] } });
  tried({ cluster: { nodes: ['redis://a', null] } });
  tried({ cluster: { nodes: ['redis://a', {}] } });
  tried({ cluster: { nodes: ['redis://a', 'http://b'] } });
  tried({ cluster: { nodes: ['redis://a', 'redis://b/x'] } });
  const pairs = [
    [{ database: 1 }, { database: 2 }], [{ database: 1 }, { database: 0 }], [{ username: 'a' }, { username: 'b' }],
    [{ password: 'a' }, { password: 'b' }], [{ maxRetries: 1 }, { maxRetries: 2 }],
    [{ minRetryBackoff: 1 }, { minRetryBackoff: 2 }], [{ maxRetryBackoff: 1 }, { maxRetryBackoff: 2 }],
  ];
  for (const [one, two] of pairs) tried({ cluster: { nodes: [node(one), node(two)] } });
  for (const name of ['dialTimeout', 'readTimeout', 'poolSize', 'poolTimeout']) {
    tried({ cluster: { nodes: [node({}, { [name]: 1 }), node({}, { [name]: 2 })] } });
  }
  tried({ cluster: { nodes: ['redis://a?client_name=x', 'redis://b?client_name=y'] } });
  tried({ cluster: { nodes: ['redis://u:p@a', 'redis://u:q@b'] } });
  tried({ masterName: 'm' });
  tried({ masterName: 'm', socket: {} });
  tried({ masterName: 5, socket: {} });
  tried({ masterName: null, socket: {} });
  tried({ masterName: 'm', socket: {}, sentinelUsername: 5 });
  tried({ masterName: 'm', socket: {}, sentinelPassword: [] });
  tried({ masterName: 'm', socket: {}, username: 5 });
  tried({ masterName: 'm', socket: { port: 'x' } });
  tried({ masterName: 'm', socket: {}, foo: 1 });
  tried({ mastername: 'm', socket: {} });
  tried({ sentinelUsername: 'u', socket: {} });
}

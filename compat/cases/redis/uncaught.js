// row: redis.errors
import redis from 'k6/experimental/redis';

const client = new redis.Client({ socket: { host: '127.0.0.1', port: 1 }, maxRetries: -1 });

export default function () {
  client.get('a');
  console.log('called');
}

// row: redis.errors
import { Client } from 'k6/experimental/redis';

export default async function () {
  for (const url of ['unix:///tmp/redis.sock', 'unix://ann:secret@/tmp/redis.sock?db=2', 'unix:/tmp/redis.sock?max_retries=-1']) {
    await new Client(url).get('a').catch((error) => console.log(url, String(error)));
  }
}

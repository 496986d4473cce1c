// row: grpc.metrics, grpc.Stream, outputs.json
// args: --out json={out}/all.json
// samples: all.json
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const good = new grpc.Stream(client, 'shop.Shop/Chat', { tags: { own: 'tag' } });
  good.on('data', () => {});
  good.write({ name: 'a' });
  good.write({ name: 'b' });
  good.end();
  const bad = new grpc.Stream(client, 'shop.Shop/List', { tags: { name: 'own name' } });
  bad.on('error', () => {});
  bad.write({ count: 2, code: 9, message: 'no' });
  bad.end();
}

// row: grpc.metrics, outputs.json
// args: --out json={out}/all.json
// samples: all.json
import grpc from 'k6/net/grpc';
import { group } from 'k6';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  client.invoke('shop.Shop/Echo', {}, { tags: { own: 'tag', number: 5 } });
  client.invoke('/shop.Shop/Fail', { code: 5, message: 'no' }, { tags: { name: 'own name' } });
  client.invoke('shop.Shop/Wait', { millis: 5000 }, { timeout: '100ms' });
  client.invoke('shop.Shop/Missing', {});
  group('grouped', () => client.invoke('shop.Shop/Who', {}));
}

// row: grpc.metrics, options.systemTags
// args: --out json={out}/all.json
// samples: all.json
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { systemTags: ['url', 'service', 'method', 'name', 'status', 'ip', 'group', 'vu', 'iter', 'proto'], tags: { all: 'yes' } };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  client.invoke('shop.Shop/Echo', {});
}

// row: grpc.invoke, options.userAgent
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { userAgent: 'own agent' };
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  console.log(Number(client.invoke('shop.Shop/Who', {}).status));
}

// row: grpc.connect
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true, authority: 'shop.test' });
  console.log(client.invoke('shop.Shop/Who', {}).message.authority);
  client.connect(__ENV.GRPC.replace('127.0.0.1', 'localhost'), { plaintext: true });
  console.log(client.invoke('shop.Shop/Who', {}).message.authority.split(':')[0]);
}

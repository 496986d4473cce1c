// row: grpc.connect, grpc.invoke
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export function setup() {
  client.connect(__ENV.GRPC, { plaintext: true });
  const { message } = client.invoke('shop.Shop/Echo', { aString: 'from setup', words: ['a'] });
  client.close();
  return { message };
}
export default function (data) {
  console.log(data.message.aString, data.message.words.length);
  client.connect(__ENV.GRPC, { plaintext: true });
  console.log(client.invoke('shop.Shop/Echo', data.message).message.aString);
}
export function teardown(data) {
  client.connect(__ENV.GRPC, { plaintext: true });
  console.log('teardown', client.invoke('shop.Shop/Echo', { words: data.message.words }).message.words[0]);
  client.close();
}

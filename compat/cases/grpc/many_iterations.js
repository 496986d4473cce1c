// row: grpc.connect, grpc.close
import grpc from 'k6/net/grpc';
// The connection of a client stays from one iteration to the next.
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { vus: 1, iterations: 3 };
export default function () {
  if (__ITER === 0) console.log(client.connect(__ENV.GRPC, { plaintext: true }));
  console.log(client.invoke('shop.Shop/Echo', { aString: String(__ITER) }).message.aString);
}

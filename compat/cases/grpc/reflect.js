// row: grpc.connect
// loose: grpc_req_duration
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
export default function () {
  console.log(client.connect(__ENV.GRPC, { plaintext: true, reflect: true, reflectMetadata: { 'x-key': 'secret' } }));
  console.log(client.invoke('shop.Shop/Echo', { aString: 'one', price: { units: 2 } }).message.price.units);
  console.log(client.invoke('shop.parcels.Parcels/Echo', { name: 'two' }).message.name);
  console.log(client.invoke('old.Shop/Echo', { name: 'three' }).message.name);
  client.close();
  const old = new grpc.Client();
  console.log(old.connect(__ENV.GRPC_OLD, { plaintext: true, reflect: true }));
  console.log(old.invoke('/shop.Shop/Echo', { aString: 'four' }).message.aString);
}

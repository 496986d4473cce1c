// row: grpc.load
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
const first = client.load([], 'parcel.proto');
const second = client.load([], 'shop.proto');
const again = client.load([], 'shop.proto');
export default function () {
  console.log(first.length, second.length, again.length);
  client.connect(__ENV.GRPC, { plaintext: true });
  console.log(client.invoke('shop.parcels.Parcels/Echo', { name: 'one' }).message.name);
  console.log(client.invoke('shop.Shop/Echo', { aString: 'two' }).message.aString);
}

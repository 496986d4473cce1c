// row: grpc.invoke
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
client.load([], 'shop.proto', 'old.proto', 'parcel.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const { message } = client.invoke('shop.Shop/Echo', {});
  for (const name of Object.keys(message).sort()) console.log(name, show(message[name]));
  console.log(show(client.invoke('shop.Shop/Echo', { inner: {}, maybeNumber: 0, text: '' }).message));
  console.log(show(client.invoke('old.Shop/Echo', {}).message));
  console.log(show(client.invoke('old.Shop/Echo', { name: '', count: 0, isNew: false, size: 'SMALL', inner: {}, box: { label: 'b' } }).message));
  console.log(show(client.invoke('shop.parcels.Parcels/Echo', {}).message));
}

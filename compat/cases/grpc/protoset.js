// row: grpc.loadProtoset
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const client = new grpc.Client();
const methods = client.loadProtoset('parcel.protoset');
const lines = ['nowhere.protoset', 'parcel.proto'].map((name) => {
  try { return new grpc.Client().loadProtoset(name); } catch (error) { return `${name} threw ${error.message.split(':')[0].split('/').pop()}`; }
});
export default function () {
  lines.forEach((line) => console.log(line));
  console.log(show(methods));
  client.connect(__ENV.GRPC, { plaintext: true });
  const answer = client.invoke('shop.parcels.Parcels/Echo', { name: 'book', value: { currency: 'EUR', units: 3 }, sent: '2024-02-29T12:00:00.5Z' });
  console.log(Number(answer.status), show(answer.message));
}

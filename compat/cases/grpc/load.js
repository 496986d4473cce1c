// row: grpc.load
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const sort = (methods) => methods.map((one) => show(one)).sort();
const client = new grpc.Client();
const methods = client.load([], 'shop.proto');
const other = new grpc.Client().load(['.'], 'parcel.proto', 'old.proto');
const named = new grpc.Client().load(['common', '..'], 'money.proto');
const nothing = new grpc.Client().load(null, 'shop.proto');
export default function () {
  sort(methods).forEach((line) => console.log(line));
  sort(other).forEach((line) => console.log(line));
  console.log(show(named), Array.isArray(methods), nothing.length, Object.keys(methods[0]).sort().join());
}

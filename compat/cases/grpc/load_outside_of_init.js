// row: grpc.load, grpc.loadProtoset
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
export default function () {
  attempt('load', () => client.load([], 'shop.proto'));
  attempt('loadProtoset', () => client.loadProtoset('parcel.protoset'));
}

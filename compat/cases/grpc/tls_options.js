// row: grpc.connect, options.insecureSkipTLSVerify
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = { insecureSkipTLSVerify: true };
export default function () {
  attempt('unknown authority', () => client.connect(__ENV.GRPC_UNKNOWN));
  attempt('asked', () => client.invoke('shop.Shop/Who', {}).message.scheme);
}

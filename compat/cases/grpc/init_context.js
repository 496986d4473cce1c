// row: grpc.connect, grpc.invoke
// lines: set
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
attempt('connect', () => client.connect(__ENV.GRPC, { plaintext: true }));
attempt('invoke', () => client.invoke('shop.Shop/Who', {}));
attempt('close', () => client.close());
client.asyncInvoke('shop.Shop/Who', {}).catch((error) => console.log('asyncInvoke', `${error}`.replace('GoError: ', '')));
export default function () { console.log('runs'); }

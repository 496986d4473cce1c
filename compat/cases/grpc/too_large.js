// row: grpc.connect, grpc.invoke
// order: set
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  const large = (params, bytes) => {
    client.connect(__ENV.GRPC, { plaintext: true, ...params });
    const answer = client.invoke('shop.Shop/Large', { bytes });
    const length = answer.message && answer.message.data.length;
    client.close();
    return [Number(answer.status), answer.error, length];
  };
  attempt('4 MiB and more', () => large({}, 4 * 1024 * 1024));
  attempt('less than 4 MiB', () => large({}, 4 * 1024 * 1024 - 10));
  attempt('maxReceiveSize', () => large({ maxReceiveSize: 100 }, 200));
  attempt('at the limit', () => large({ maxReceiveSize: 102 }, 100));
  attempt('one above it', () => large({ maxReceiveSize: 101 }, 100));
  attempt('larger limit', () => large({ maxReceiveSize: 10000000 }, 5000000));
  const send = (params, length) => {
    client.connect(__ENV.GRPC, { plaintext: true, ...params });
    const answer = client.invoke('shop.Shop/Measure', { data: 'YWJj'.repeat(length / 3) });
    client.close();
    return [Number(answer.status), answer.error, answer.message];
  };
  attempt('send', () => send({}, 300));
  attempt('maxSendSize', () => send({ maxSendSize: 100 }, 300));
}

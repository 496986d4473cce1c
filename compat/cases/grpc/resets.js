// row: grpc.invoke
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  for (const code of [0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13]) {
    // What is refused is asked again, so it should not have been answered.
    const late = code === 7 ? { status: 'not asked' } : client.invoke('shop.Shop/Who', {}, { metadata: { 'x-fault': `reset-${code}-late` } });
    const early = client.invoke('shop.Shop/Who', {}, { metadata: { 'x-fault': `reset-${code}` } });
    console.log(code, Number(late.status), Number(early.status));
  }
}

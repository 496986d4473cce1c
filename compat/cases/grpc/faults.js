// row: grpc.invoke
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const faults = ['http-400', 'http-401', 'http-403', 'http-404', 'http-429', 'http-500', 'http-502', 'http-503', 'http-504', 'http-302', 'text', 'bare', 'half', 'garbage', 'none', 'two', 'status-99', 'status-x', 'status--1'];
  for (const fault of faults) {
    try {
      const answer = client.invoke('shop.Shop/Who', {}, { metadata: { 'x-fault': fault }, timeout: '5s' });
      console.log(fault, Number(answer.status), answer.error && answer.error.code);
    } catch (error) {
      console.log(fault, 'threw', error.message);
    }
  }
}

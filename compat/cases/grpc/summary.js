// row: grpc.metrics
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  client.invoke('shop.Shop/Echo', {});
}
export function handleSummary(data) {
  const { grpc_req_duration: calls, data_sent: sent, data_received: received } = data.metrics;
  console.log(Object.keys(data.metrics).filter((name) => name.startsWith('grpc')).join(), calls.type, calls.contains, calls.values.max > 0);
  console.log(sent.type, sent.contains, received.type, received.contains);
  return {};
}

// row: grpc.metrics
import grpc from 'k6/net/grpc';
import { check } from 'k6';
const client = new grpc.Client();
client.load([], 'shop.proto');
export const options = {
  thresholds: {
    grpc_req_duration: ['max<60000', 'avg>0'],
    'grpc_req_duration{status:0}': ['p(95)<60000'],
    'grpc_req_duration{method:Fail}': ['max<0.000001'],
    'grpc_req_duration{service:shop.Shop}': ['max<60000'],
    'grpc_req_duration{name:/shop.Shop/Echo}': ['max<60000'],
    grpc_streams: ['count==1'],
    grpc_streams_msgs_sent: ['count==1'],
    'grpc_streams_msgs_received{method:List}': ['count==3'],
    checks: ['rate==1'],
  },
};
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  check(client.invoke('shop.Shop/Echo', {}), { 'status is OK': (r) => r && r.status === grpc.StatusOK });
  check(client.invoke('shop.Shop/Fail', { code: 7 }), { 'not allowed': (r) => r && r.status === grpc.StatusPermissionDenied });
  const stream = new grpc.Stream(client, 'shop.Shop/List');
  stream.write({ count: 3 });
  stream.end();
}

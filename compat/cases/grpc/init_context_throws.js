// row: grpc.connect
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.connect(__ENV.GRPC, { plaintext: true });
export default function () { console.log('not reached'); }

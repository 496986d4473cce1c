// row: grpc.healthCheck
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
export default function () {
  try { client.healthCheck(); } catch (error) { console.log('threw'); }
}

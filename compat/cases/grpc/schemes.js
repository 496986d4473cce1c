// row: grpc.connect
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  for (const start of ['dns:///', 'passthrough:///', 'dns:', 'http://', 'https://', 'grpc://']) {
    try {
      client.connect(`${start}${__ENV.GRPC}`, { plaintext: true, timeout: '1s' });
      console.log(start, client.invoke('shop.Shop/Who', {}).message.authority === __ENV.GRPC);
    } catch (error) {
      console.log(start, 'threw', error.message.split(__ENV.GRPC).join('GRPC'));
    }
  }
}

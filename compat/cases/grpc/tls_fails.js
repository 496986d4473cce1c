// row: grpc.connect
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
client.load([], 'shop.proto');
const hidden = (error) => error.message.replace(/127\.0\.0\.1:\d+/g, 'ADDRESS');
export default function () {
  const fails = (name, address, params) => { try { console.log(name, client.connect(address, { timeout: '3s', ...params })); } catch (error) { console.log(name, 'threw', hidden(error)); } };
  fails('unknown authority', __ENV.GRPC_UNKNOWN);
  fails('TLS to plain', __ENV.GRPC);
  fails('HTTP/1.1 only', __ENV.TLS.replace('https://', ''));
  fails('other name', __ENV.GRPC_TLS, { authority: 'elsewhere.test' });
}

// row: grpc.connect
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
client.load([], 'shop.proto');
export default function () {
  const seen = (address, params) => {
    const connected = client.connect(address, params);
    const { message } = client.invoke('shop.Shop/Who', {});
    client.close();
    return [connected, message.scheme, message.authority === address];
  };
  attempt('trusted', () => seen(__ENV.GRPC_TLS));
  attempt('plaintext: false', () => seen(__ENV.GRPC_TLS, { plaintext: false, reflect: true }));
  attempt('own authority', () => seen(__ENV.GRPC_UNKNOWN, { tls: { cacerts: __ENV.GRPC_CA } }));
  attempt('list of authorities', () => seen(__ENV.GRPC_UNKNOWN, { tls: { cacerts: [__ENV.GRPC_CA] } }));
  attempt('system too', () => seen(__ENV.GRPC_TLS, { tls: { cacerts: [__ENV.GRPC_CA] } }));
  attempt('client', () => seen(__ENV.GRPC_CLIENT, { tls: { cert: __ENV.CLIENT_CERT, key: __ENV.CLIENT_KEY } }));
}

// row: grpc.connect
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
export default function () {
  const bad = [
    { own: 1 }, { plaintext: 'yes' }, { plaintext: true, timeout: 'soon' }, { plaintext: true, timeout: true }, { reflect: 1 }, { reflectMetadata: 'a' },
    { reflectMetadata: { a: 1 } }, { maxReceiveSize: '1' }, { maxReceiveSize: -1 }, { maxReceiveSize: 1.5 }, { maxSendSize: '1' },
    { maxSendSize: -1 }, { tls: 'yes' }, { tls: { cert: 1 } }, { tls: { key: 1 } }, { tls: { password: 1 } },
    { tls: { cacerts: 1 } }, { tls: { cacerts: [1] } }, { authority: 1 }, { tls: { key: 'no pem', password: 'x' } }, { tls: { cacerts: ['no pem'] } },
    { tls: { cert: 'no pem', key: 'no pem' } },
  ];
  for (const params of bad) attempt(JSON.stringify(params), () => client.connect(__ENV.GRPC, params));
  attempt('no address', () => client.connect());
  attempt('null', () => client.connect(__ENV.GRPC, { plaintext: true, timeout: 60000, maxReceiveSize: 0, maxSendSize: 0, authority: '', tls: {} }));
  attempt('undefined', () => client.connect(__ENV.GRPC, { plaintext: undefined }));
}

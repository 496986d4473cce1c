// row: grpc.healthCheck
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
const attempt = (name, act) => { try { console.log(name, show(act())); } catch (error) { console.log(name, 'threw', error.message.split(': proto')[0]); } };
const client = new grpc.Client();
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const answer = client.healthCheck();
  console.log(show(answer), answer.status === grpc.HealthCheckServing, Object.keys(answer).join());
  attempt('named', () => client.healthCheck('shop.Shop').status === grpc.HealthCheckNotServing);
  attempt('empty name', () => Number(client.healthCheck('').status));
  attempt('null', () => Number(client.healthCheck(null).status));
  attempt('unknown', () => client.healthCheck('nowhere'));
  client.connect(__ENV.GRPC_BARE, { plaintext: true });
  attempt('not there', () => client.healthCheck());
}

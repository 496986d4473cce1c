// row: grpc.constants
import grpc from 'k6/net/grpc';
const show = (value) => JSON.stringify(value, (key, part) => (['status', 'code'].includes(key) ? Number(part) : part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
import * as all from 'k6/net/grpc';
export default function () {
  console.log(show(Object.fromEntries(Object.entries(grpc).filter(([name]) => /^(Status|HealthCheck)/.test(name)).map(([name, value]) => [name, Number(value)]))));
  console.log(Object.keys(grpc).sort().join(), Object.keys(all).sort().join());
  console.log(Number(all.StatusOK), typeof all.Client, typeof all.Stream, grpc.StatusNowhere);
  const client = new grpc.Client();
  console.log(typeof client, Object.keys(client).sort().join(), typeof client.invoke, client instanceof grpc.Client, String(client));
}

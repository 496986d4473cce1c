// row: grpc.metrics, outputs.json
// args: --out json={out}/all.json
// samples: all.json
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
export default function () {
  client.connect(__ENV.GRPC, { plaintext: true, reflect: true });
  client.healthCheck();
  client.healthCheck('shop.Shop');
  try { client.healthCheck('nowhere'); } catch (error) { console.log('threw'); }
  client.close();
  try { client.connect(__ENV.GRPC_BARE, { plaintext: true, reflect: true }); } catch (error) { console.log('threw'); }
  try { client.connect('127.0.0.1:1', { plaintext: true, timeout: '1s' }); } catch (error) { console.log('threw'); }
  const loaded = new grpc.Client();
  loaded.connect(__ENV.GRPC_OLD, { plaintext: true, reflect: true });
}

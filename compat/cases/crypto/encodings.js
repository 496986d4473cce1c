// row: crypto.sha256
import { sha256 } from 'k6/crypto';
export default function () {
  for (const encoding of ['hex', 'base64', 'base64url', 'base64rawurl']) console.log(encoding, sha256('text', encoding));
  const bytes = sha256('text', 'binary');
  console.log(bytes instanceof ArrayBuffer, new Uint8Array(bytes).join());
  console.log(sha256(new Uint8Array([1, 2, 3]).buffer, 'hex'), sha256('', 'hex'));
  try { console.log(sha256('text', 'nonsense')); } catch (e) { console.log('refused'); }
}

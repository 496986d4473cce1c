// row: crypto.randomBytes, crypto.hexEncode
import crypto from 'k6/crypto';
export default function () {
  const bytes = crypto.randomBytes(16);
  console.log(bytes instanceof ArrayBuffer, bytes.byteLength, crypto.hexEncode(bytes).length, crypto.hexEncode(new Uint8Array([0, 171, 255]).buffer), crypto.hexEncode('AZ'));
  for (const count of [0, -1]) { try { console.log(count, crypto.randomBytes(count).byteLength); } catch (e) { console.log(count, 'refused'); } }
}

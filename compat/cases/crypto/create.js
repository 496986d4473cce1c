// row: crypto.createHash, crypto.createHMAC
import crypto from 'k6/crypto';
export default function () {
  const hash = crypto.createHash('sha256');
  hash.update('some ');
  hash.update('text');
  console.log(hash.digest('hex'), hash.digest('base64'));
  const hmac = crypto.createHMAC('sha1', 'key');
  hmac.update('data');
  console.log(hmac.digest('hex'));
}

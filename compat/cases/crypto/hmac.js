// row: crypto.hmac
import crypto from 'k6/crypto';
export default function () {
  for (const name of ['md5', 'sha1', 'sha256', 'sha384', 'sha512', 'sha512_224', 'sha512_256', 'ripemd160']) console.log(name, crypto.hmac(name, 'key', 'data', 'hex'));
  console.log(crypto.hmac('sha256', new Uint8Array([1, 2]).buffer, 'data', 'base64'));
  try { crypto.hmac('nonsense', 'k', 'd', 'hex'); } catch (e) { console.log('refused'); }
}

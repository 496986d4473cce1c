// row: crypto.subtle.sign
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
const data = new Uint8Array([1, 2, 3]);
const secret = new Uint8Array(32).fill(7);

export default async function () {
  for (const hash of ['SHA-1', 'SHA-256', { name: 'SHA-384' }, { name: 'SHA-512' }]) {
    const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash }, true, ['sign', 'verify']);
    console.log(key.type, key.extractable, key.algorithm.name, key.algorithm.hash.name, key.algorithm.length, key.usages.join());
    const signature = await crypto.subtle.sign('HMAC', key, data);
    console.log(hex(signature));
    console.log(await crypto.subtle.verify({ name: 'HMAC' }, key, signature, data));
    console.log(await crypto.subtle.verify('HMAC', key, signature, secret));
    const jwk = await crypto.subtle.exportKey('jwk', key);
    console.log(jwk.kty, jwk.alg, jwk.k, jwk.ext, jwk.key_ops.join());
    const again = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash }, false, ['verify']);
    console.log(again.extractable, await crypto.subtle.verify('HMAC', again, signature, data));
  }
  for (const [hash, length] of [['SHA-1'], ['SHA-256'], ['SHA-512'], ['SHA-256', 64]]) {
    const algorithm = { name: 'HMAC', hash };
    if (length !== undefined) algorithm.length = length;
    const key = await crypto.subtle.generateKey(algorithm, true, ['sign']);
    console.log(hash, key.algorithm.length, (await crypto.subtle.exportKey('raw', key)).byteLength, key.usages.join());
  }
}

// row: crypto.subtle.deriveBits, crypto.subtle.deriveKey
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
const password = new Uint8Array([112, 97, 115, 115]);
const salt = new Uint8Array([1, 2, 3, 4]);

export default async function () {
  const key = await crypto.subtle.importKey('raw', password, 'PBKDF2', false, ['deriveBits', 'deriveKey']);
  console.log(key.type, key.extractable, key.algorithm.name, key.usages.join());
  for (const hash of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {
    const params = { name: 'PBKDF2', hash, salt, iterations: 100 };
    console.log(hash, hex(await crypto.subtle.deriveBits(params, key, 256)), hex(await crypto.subtle.deriveBits(params, key, 520)));
    const derived = await crypto.subtle.deriveKey(params, key, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
    console.log(derived.type, derived.algorithm.name, derived.algorithm.length, hex(await crypto.subtle.exportKey('raw', derived)));
  }
  for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
    const algorithm = { name: 'ECDH', namedCurve };
    const one = await crypto.subtle.generateKey(algorithm, true, ['deriveBits']);
    const two = await crypto.subtle.generateKey(algorithm, true, ['deriveBits', 'deriveKey']);
    console.log(one.publicKey.usages.length, one.privateKey.usages.join(), two.privateKey.usages.join());
    const shared = await crypto.subtle.deriveBits({ name: 'ECDH', public: two.publicKey }, one.privateKey, 256);
    const same = await crypto.subtle.deriveBits({ name: 'ECDH', public: one.publicKey }, two.privateKey, 256);
    console.log(shared.byteLength, hex(shared) === hex(same));
  }
}

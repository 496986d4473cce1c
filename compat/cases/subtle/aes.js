// row: crypto.subtle.encrypt
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
const text = new Uint8Array([115, 101, 99, 114, 101, 116, 32, 109, 101, 115, 115, 97, 103, 101, 46, 46, 46]);
const iv = new Uint8Array(16).fill(9);

export default async function () {
  for (const size of [16, 24, 32]) {
    const secret = new Uint8Array(size).fill(size);
    for (const params of [
      { name: 'AES-CBC', iv },
      { name: 'AES-CTR', counter: iv, length: 64 },
      { name: 'AES-GCM', iv: iv.slice(0, 12) },
      { name: 'AES-GCM', iv: iv.slice(0, 12), tagLength: 96, additionalData: new Uint8Array([1, 2]) },
    ]) {
      const key = await crypto.subtle.importKey('raw', secret, params.name, true, ['encrypt', 'decrypt']);
      const sealed = await crypto.subtle.encrypt(params, key, text);
      console.log(params.name, key.algorithm.length, hex(sealed));
      console.log(hex(await crypto.subtle.decrypt(params, key, sealed)) === hex(text));
      const jwk = await crypto.subtle.exportKey('jwk', key);
      console.log(jwk.alg, jwk.k, hex(await crypto.subtle.exportKey('raw', key)) === hex(secret));
    }
  }
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt']);
  console.log(key.type, key.extractable, key.algorithm.name, key.algorithm.length, key.usages.join());
}

// row: crypto.subtle.generateKey
const data = new Uint8Array([1, 2, 3]);
const algorithm = (name) => ({ name, modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' });
const importing = (name) => ({ name, hash: 'SHA-256' });

export default async function () {
  for (const params of [{ name: 'RSASSA-PKCS1-v1_5' }, { name: 'RSA-PSS', saltLength: 32 }]) {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm(params.name), true, ['sign', 'verify']);
    for (const key of [privateKey, publicKey]) {
      console.log(key.type, key.extractable, key.algorithm.name, key.algorithm.modulusLength, key.algorithm.hash.name, key.usages.join());
    }
    const signature = await crypto.subtle.sign(params, privateKey, data);
    console.log(signature.byteLength, await crypto.subtle.verify(params, publicKey, signature, data));
    console.log(await crypto.subtle.verify(params, publicKey, signature, new Uint8Array(3)));
    const pkcs8 = await crypto.subtle.exportKey('pkcs8', privateKey);
    const spki = await crypto.subtle.exportKey('spki', publicKey);
    const privateAgain = await crypto.subtle.importKey('pkcs8', pkcs8, importing(params.name), true, ['sign']);
    const publicAgain = await crypto.subtle.importKey('spki', spki, importing(params.name), true, ['verify']);
    console.log(await crypto.subtle.verify(params, publicAgain, await crypto.subtle.sign(params, privateAgain, data), data));
    const jwk = await crypto.subtle.exportKey('jwk', privateKey);
    console.log(jwk.kty, jwk.e, Object.keys(jwk).sort().join());
    const imported = await crypto.subtle.importKey('jwk', jwk, importing(params.name), true, ['sign']);
    console.log(await crypto.subtle.verify(params, publicKey, await crypto.subtle.sign(params, imported, data), data));
  }
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm('RSA-OAEP'), true, ['encrypt', 'decrypt']);
  console.log(privateKey.usages.join(), publicKey.usages.join());
  const params = { name: 'RSA-OAEP', label: new Uint8Array([9]) };
  const sealed = await crypto.subtle.encrypt(params, publicKey, data);
  console.log(sealed.byteLength, new Uint8Array(await crypto.subtle.decrypt(params, privateKey, sealed)).join());
}

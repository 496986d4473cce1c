// row: crypto.subtle.verify
const data = new Uint8Array([1, 2, 3]);

export default async function () {
  for (const [namedCurve, hash] of [['P-256', 'SHA-256'], ['P-384', 'SHA-384'], ['P-521', 'SHA-512'], ['P-256', 'SHA-512'], ['P-384', 'SHA-1']]) {
    const algorithm = { name: 'ECDSA', namedCurve };
    const params = { name: 'ECDSA', hash: { name: hash } };
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    for (const key of [privateKey, publicKey]) {
      console.log(key.type, key.extractable, key.algorithm.name, key.algorithm.namedCurve, key.usages.join());
    }
    const signature = await crypto.subtle.sign(params, privateKey, data);
    console.log(signature.byteLength, await crypto.subtle.verify(params, publicKey, signature, data));
    console.log(await crypto.subtle.verify(params, publicKey, signature, new Uint8Array(3)));
    console.log(await crypto.subtle.verify(params, publicKey, new Uint8Array(5), data));
    for (const format of ['raw', 'spki', 'jwk']) {
      const exported = await crypto.subtle.exportKey(format, publicKey);
      const again = await crypto.subtle.importKey(format, exported, algorithm, true, ['verify']);
      console.log(format, format === 'raw' ? exported.byteLength : '', await crypto.subtle.verify(params, again, signature, data));
    }
    for (const format of ['pkcs8', 'jwk']) {
      const exported = await crypto.subtle.exportKey(format, privateKey);
      const again = await crypto.subtle.importKey(format, exported, algorithm, true, ['sign']);
      const second = await crypto.subtle.sign(params, again, data);
      console.log(format, await crypto.subtle.verify(params, publicKey, second, data));
    }
  }
}

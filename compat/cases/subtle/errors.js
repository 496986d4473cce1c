// row: crypto.subtle.importKey, crypto.subtle.exportKey
const { subtle } = crypto;
const data = new Uint8Array([1, 2, 3]);
const iv = new Uint8Array(16);

const said = async (what, call) => {
  try {
    const value = await call();
    console.log(what, 'accepted', typeof value);
  } catch (error) {
    console.log(what, error.name, '|', error.message, '|', error instanceof Error);
  }
};

export default async function () {
  const raw = new Uint8Array(16).fill(1);
  const aes = await subtle.importKey('raw', raw, 'AES-CBC', false, ['encrypt', 'decrypt']);
  const hmac = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
  const curve = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
  await said('not extractable', () => subtle.exportKey('raw', aes));
  await said('unknown format', () => subtle.exportKey('der', hmac));
  await said('spki of a secret', () => subtle.exportKey('spki', hmac));
  await said('raw of a private key', () => subtle.exportKey('raw', curve.privateKey));
  await said('no key', () => subtle.exportKey('raw', {}));
  await said('usage', () => subtle.importKey('raw', raw, 'AES-CBC', true, ['sign']));
  await said('no usage', () => subtle.importKey('raw', raw, 'AES-CBC', true, []));
  await said('length', () => subtle.importKey('raw', data, 'AES-CBC', true, ['encrypt']));
  await said('format', () => subtle.importKey('spki', raw, 'AES-CBC', true, ['encrypt']));
  await said('other format', () => subtle.importKey('pem', raw, 'AES-CBC', true, ['encrypt']));
  await said('no data', () => subtle.importKey('raw', undefined, 'AES-CBC', true, ['encrypt']));
  await said('no hash', () => subtle.importKey('raw', raw, 'HMAC', true, ['sign']));
  await said('wrong hash', () => subtle.importKey('raw', raw, { name: 'HMAC', hash: 'MD5' }, true, ['sign']));
  await said('no curve', () => subtle.importKey('raw', raw, 'ECDSA', true, ['verify']));
  await said('unknown curve', () => subtle.importKey('raw', raw, { name: 'ECDSA', namedCurve: 'P-1' }, true, ['verify']));
  await said('extractable password', () => subtle.importKey('raw', raw, 'PBKDF2', true, ['deriveBits']));
  await said('jwk type', () => subtle.importKey('jwk', { kty: 'EC' }, 'AES-CBC', true, ['encrypt']));
  await said('jwk without key', () => subtle.importKey('jwk', { kty: 'oct' }, 'AES-CBC', true, ['encrypt']));
  await said('jwk without curve', () => subtle.importKey('jwk', { kty: 'EC' }, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']));
  await said('algorithm', () => subtle.generateKey('HKDF', true, ['deriveBits']));
  await said('aes length', () => subtle.generateKey({ name: 'AES-CBC', length: 100 }, true, ['encrypt']));
  await said('no aes length', () => subtle.generateKey('AES-CBC', true, ['encrypt']));
  await said('key wrap', () => subtle.generateKey({ name: 'AES-KW', length: 128 }, true, ['encrypt']));
  await said('hmac of 0 bits', () => subtle.generateKey({ name: 'HMAC', hash: 'SHA-1', length: 0 }, true, ['sign']));
  await said('curve', () => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-1' }, true, ['deriveBits']));
  await said('curve without usage', () => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, []));
  await said('curve usage', () => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['sign']));
  await said('even exponent', () => subtle.generateKey({ name: 'RSA-PSS', modulusLength: 1024, publicExponent: new Uint8Array([2]), hash: 'SHA-1' }, true, ['sign']));
  await said('exponent', () => subtle.generateKey({ name: 'RSA-PSS', modulusLength: 1024, publicExponent: [1], hash: 'SHA-1' }, true, ['sign']));
  await said('iv', () => subtle.encrypt({ name: 'AES-CBC', iv: data }, aes, data));
  await said('empty', () => subtle.encrypt({ name: 'AES-CBC', iv }, aes, new Uint8Array(0)));
  await said('padding', () => subtle.decrypt({ name: 'AES-CBC', iv }, aes, iv));
  await said('other algorithm', () => subtle.encrypt({ name: 'AES-GCM', iv }, aes, data));
  await said('key of another', () => subtle.sign('HMAC', aes, data));
  await said('no verify', () => subtle.verify('HMAC', hmac, data, data));
  await said('no such signing', () => subtle.sign('AES-CBC', aes, data));
  await said('public key signs', () => subtle.sign({ name: 'ECDSA', hash: 'SHA-1' }, curve.publicKey, data));
  await said('no hash for ECDSA', () => subtle.sign('ECDSA', curve.privateKey, data));
  await said('no base key', () => subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: data, iterations: 1 }, hmac, 128));
  await said('no rounds', () => subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: data, iterations: 0 }, hmac, 128));
  await said('no salt', () => subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', iterations: 1 }, hmac, 128));
  await said('derive nothing', () => subtle.deriveBits({ name: 'ECDH', public: curve.publicKey }, curve.privateKey, 128));
  await said('derive hmac', () => subtle.deriveKey({ name: 'PBKDF2', hash: 'SHA-1', salt: data, iterations: 1 }, hmac, { name: 'HMAC', hash: 'SHA-1' }, true, ['sign']));
  await said('text as data', () => subtle.sign('HMAC', hmac, 'text'));
  await said('wrapKey', () => subtle.wrapKey('raw', aes, aes, 'AES-KW'));
}

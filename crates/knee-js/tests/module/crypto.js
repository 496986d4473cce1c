// passed: 25
import { check } from 'k6';
import crypto, { createHash, createHMAC, hexEncode, hmac, md5, randomBytes, sha256 } from 'k6/crypto';

const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
};
const fed = (hasher, ...pieces) => {
  pieces.forEach((piece) => hasher.update(piece));
  return hasher;
};
const names = ['md4', 'md5', 'ripemd160', 'sha1', 'sha256', 'sha384', 'sha512', 'sha512_224', 'sha512_256'];

export default function () {
  check(null, {
    'md5': () => md5('hello world', 'hex') === '5eb63bbbe01eeed093cb22bb8f5acdc3',
    'every name is a function': () => names.every((name) => crypto[name]('x', 'hex').length >= 32),
    'every name makes a hasher': () =>
      names.every((name) => fed(createHash(name), 'x').digest('hex') === crypto[name]('x', 'hex')),
    'base64': () => md5('a', 'base64') === 'DMF1ucDxtqgxw5niaXcmYQ==',
    'base64url': () => md5('a', 'base64url') === 'DMF1ucDxtqgxw5niaXcmYQ==',
    'base64rawurl': () => md5('a', 'base64rawurl') === 'DMF1ucDxtqgxw5niaXcmYQ',
    'binary': () => hexEncode(md5('a', 'binary')) === md5('a', 'hex'),
    'bytes': () => md5(new Uint8Array([97]), 'hex') === md5(new Uint8Array([97]).buffer, 'hex') && md5(new Uint8Array([97]), 'hex') === md5('a', 'hex'),
    'an unknown form': () => thrown(() => md5('a', 'bogus')) === 'GoError: invalid output encoding: bogus',
    'no form': () => thrown(() => sha256('a')) === 'GoError: invalid output encoding: ',
    'a number': () => thrown(() => md5(5, 'hex')) === 'GoError: md5 failed: invalid type int64, expected string, []byte or ArrayBuffer',
    'nothing': () => thrown(() => sha256()).startsWith('GoError: sha256 failed: invalid type <nil>'),
    'hmac': () => hmac('sha256', 'k', 'data', 'hex') === '98755ce7a0d431b5d7b8ec8e343ada3bcaa4f6c44ca468cffcbaa9c273634dd7',
    'hmac of bytes': () => hmac('sha256', new Uint8Array([107]).buffer, new Uint8Array([1]), 'hex') === '71909016cc898c92194bc526cb69dab7612b113433506b9b918c4f9e6150cec7',
    'hmac by an unknown name': () => thrown(() => hmac('shax', 'k', 'data', 'hex')) === 'GoError: invalid algorithm: shax',
    'hmac without a key': () => thrown(() => hmac('sha256', undefined, 'data', 'hex')) === 'GoError: invalid type <nil>, expected string, []byte or ArrayBuffer',
    'pieces': () => fed(createHash('sha256'), 'a', new Uint8Array([98]).buffer).digest('hex') === sha256('ab', 'hex'),
    'a digest in between': () => {
      const hasher = fed(createHash('sha1'), 'a');
      return hasher.digest('hex') === crypto.sha1('a', 'hex') && fed(hasher, 'b').digest('hex') === crypto.sha1('ab', 'hex');
    },
    'update gives nothing': () => createHash('md5').update('a') === undefined,
    'pieces with a key': () => fed(createHMAC('sha256', 'k'), 'da', 'ta').digest('hex') === hmac('sha256', 'k', 'data', 'hex'),
    'a key by an unknown name': () => thrown(() => createHMAC('nope', 'k')) === 'GoError: invalid algorithm: nope',
    'hexEncode': () => hexEncode('abc') === '616263' && hexEncode(new Uint8Array([1, 255]).buffer) === '01ff',
    'randomBytes': () => randomBytes(16) instanceof ArrayBuffer && hexEncode(randomBytes(16)) !== hexEncode(randomBytes(16)),
    'as many as asked for': () => randomBytes(1.7).byteLength === 1 && randomBytes('20').byteLength === 20,
    'none and fewer': () => [0, -1, 'x', undefined].every((size) => thrown(() => randomBytes(size)) === 'GoError: invalid size'),
  });
}

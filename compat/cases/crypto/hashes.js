// row: crypto.md4, crypto.md5, crypto.sha1, crypto.sha256, crypto.sha384, crypto.sha512, crypto.sha512_224, crypto.sha512_256, crypto.ripemd160
import crypto from 'k6/crypto';
export default function () {
  for (const name of ['md4', 'md5', 'sha1', 'sha256', 'sha384', 'sha512', 'sha512_224', 'sha512_256', 'ripemd160']) {
    console.log(name, crypto[name]('some text', 'hex'));
  }
}

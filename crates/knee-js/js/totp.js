// knee's own answer to https://jslib.k6.io/totp: one-time passwords after RFC 6238 and RFC 4226.
//
// Written from the two documents and from what the original was seen to do; it contains nothing of it.

// ---- SHA-1 and HMAC, FIPS 180-4 and RFC 2104 -----------------------------------------------------------------

const turn = (word, by) => (word << by) | (word >>> (32 - by));

function sha1(bytes) {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(length - 4, bytes.length * 8);
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
  const words = new Int32Array(80);
  for (let block = 0; block < length; block += 64) {
    for (let at = 0; at < 16; at += 1) words[at] = view.getInt32(block + at * 4);
    for (let at = 16; at < 80; at += 1) {
      words[at] = turn(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 1);
    }
    compress(state, words);
  }
  const digest = new DataView(new ArrayBuffer(20));
  state.forEach((word, at) => digest.setUint32(at * 4, word));
  return new Uint8Array(digest.buffer);
}

function compress(state, words) {
  let [a, b, c, d, e] = state;
  for (let at = 0; at < 80; at += 1) {
    let mixed = (b ^ c ^ d) + (at < 40 ? 0x6ed9eba1 : 0xca62c1d6);
    if (at < 20) mixed = ((b & c) | (~b & d)) + 0x5a827999;
    else if (at >= 40 && at < 60) mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    const next = (turn(a, 5) + mixed + e + words[at]) | 0;
    [a, b, c, d, e] = [next, a, turn(b, 30), c, d];
  }
  [a, b, c, d, e].forEach((word, at) => {
    state[at] = (state[at] + word) | 0;
  });
}

function hmac(key, message) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha1(key) : key);
  const joined = (mask, tail) => Uint8Array.from([...block.map((byte) => byte ^ mask), ...tail]);
  return sha1(joined(0x5c, sha1(joined(0x36, message))));
}

// ---- the passwords -------------------------------------------------------------------------------------------

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

// The bytes of a base32 secret. As in the original, the secret is one number: bits that fill no group of four at the
// end are lost, and so are zeros at the beginning. Letters that are not in the alphabet give a wrong key, or a SyntaxError.
function fromBase32(text) {
  const bits = Array.from({ length: text.length }, (_, at) =>
    ALPHABET.indexOf(text.charAt(at).toUpperCase()).toString(2).padStart(5, '0')).join('');
  const groups = bits.match(/[^]{4}/g) || [];
  let rest = BigInt(`0x${groups.map((group) => parseInt(group, 2).toString(16)).join('')}`);
  const bytes = [];
  for (; rest > 0n; rest >>= 8n) bytes.unshift(Number(rest & 0xffn));
  if (bytes.length === 0) throw Object.assign(new Error('the secret has no bytes'), { name: 'DataError' });
  return Uint8Array.from(bytes);
}

export class TOTP {
  constructor(secret, digits = 6) {
    this.key = secret;
    this.digits = digits;
  }

  // The current password. A password lasts `step` seconds; the first one began at `start`, in seconds since 1970.
  async gen(step = 30, start = 0) {
    const key = fromBase32(this.key);
    const message = new DataView(new ArrayBuffer(8));
    message.setUint32(4, Math.floor((Date.now() / 1000 - start) / step));
    const digest = hmac(key, new Uint8Array(message.buffer));
    const number = new DataView(digest.buffer).getUint32(digest[19] & 0x0f) & 0x7fffffff;
    return String(number % 10 ** this.digits).padStart(this.digits, '0');
  }

  // Whether a text is the current password.
  async verify(token, step = 30) {
    return token === (await this.gen(step));
  }
}

// row: crypto.subtle.digest
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
const bytes = new Uint8Array([104, 101, 108, 108, 111]);

export default async function () {
  for (const name of ['SHA-1', 'sha-256', 'SHA-384', 'SHA-512']) {
    console.log(name, hex(await crypto.subtle.digest(name, bytes)));
  }
  console.log(hex(await crypto.subtle.digest({ name: 'SHA-1' }, bytes.buffer)));
  console.log('part of a buffer', hex(await crypto.subtle.digest('SHA-1', bytes.subarray(1, 3))));
  console.log('empty', hex(await crypto.subtle.digest('SHA-1', new Uint8Array(0))));
  const promise = crypto.subtle.digest('SHA-1', new Uint16Array([1, 2]));
  console.log(promise instanceof Promise, (await promise) instanceof ArrayBuffer, (await promise).byteLength);
  for (const [name, data] of [['MD5', bytes], ['SHA-1', 'text'], ['SHA-1', new DataView(bytes.buffer)], ['HMAC', bytes]]) {
    try {
      await crypto.subtle.digest(name, data);
      console.log('accepted');
    } catch (error) {
      console.log(error.name, error.message, error instanceof Error, String(error));
    }
  }
}

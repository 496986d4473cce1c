// row: globals.crypto
export default function () {
  console.log(crypto.getRandomValues(new Uint8Array(4)).length, crypto.randomUUID().length, typeof crypto.subtle);
}

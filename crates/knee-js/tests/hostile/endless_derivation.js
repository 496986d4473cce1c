// iterations: 0
export const options = { scenarios: { bad: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };
export default async function () {
  const { subtle } = crypto;
  const key = await subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits']);
  await subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: new Uint8Array(1), iterations: 2 ** 40 }, key, 256);
}

// passed: 12
import { check } from 'k6';

const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return error.name;
  }
};

export default function () {
  check(null, {
    'TextEncoder': () => new TextEncoder().encode('až').join() === '97,197,190' && new TextEncoder().encoding === 'utf-8',
    'TextDecoder': () => new TextDecoder().decode(new Uint8Array([97, 197, 190])) === 'až',
    'of a buffer': () => new TextDecoder('utf-8').decode(new Uint8Array([97]).buffer) === 'a',
    'of nothing': () => new TextDecoder().decode() === '',
    'of what is no text': () => new TextDecoder().decode(new Uint8Array([97, 255])) === 'a\ufffd',
    'of what is no text, strictly': () => thrown(() => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))) === 'TypeError',
    'UTF-16': () => new TextDecoder('utf-16le').decode(new Uint8Array([97, 0])) === 'a',
    'an unknown encoding': () => thrown(() => new TextDecoder('klingon')) === 'RangeError',
    'a mark at the start': () => new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97])) === 'a',
    'getRandomValues': () => {
      const array = new Uint8Array(16);
      return crypto.getRandomValues(array) === array && array.some((byte) => byte !== 0);
    },
    'getRandomValues of something else': () => thrown(() => crypto.getRandomValues([1])) !== 'nothing',
    'randomUUID': () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
  });
}

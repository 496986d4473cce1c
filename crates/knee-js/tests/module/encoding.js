// passed: 22
import { check } from 'k6';
import encoding, { b64decode, b64encode } from 'k6/encoding';

const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
};
const bytes = (buffer) => Array.from(new Uint8Array(buffer)).join();
const wants = (type) => `GoError: invalid type ${type}, expected string, []byte or ArrayBuffer`;

export default function () {
  check(null, {
    'a text': () => b64encode('hello') === 'aGVsbG8=',
    'without padding': () => b64encode('hello', 'rawstd') === 'aGVsbG8',
    'for URLs': () => b64encode('??>>', 'url') === 'Pz8-Pg==',
    'for URLs without padding': () => b64encode('??>>a', 'rawurl') === 'Pz8-PmE',
    'an unknown alphabet is the standard one': () => b64encode('??>>a', 'bogus') === 'Pz8+PmE=',
    'an ArrayBuffer': () => b64encode(new Uint8Array([1, 2, 3]).buffer) === 'AQID',
    'a Uint8Array': () => b64encode(new Uint8Array([0, 1, 2, 3]).subarray(1)) === 'AQID',
    'letters of more than one byte': () => b64encode('ü€😀') === 'w7zigqzwn5iA',
    'other arrays are refused': () => thrown(() => b64encode(new Uint16Array([1]))) === wants('[]uint16'),
    'lists are refused': () => thrown(() => b64encode([1])) === wants('[]interface {}'),
    'numbers are refused': () => thrown(() => b64encode(12)) === wants('int64'),
    'broken numbers are refused': () => thrown(() => b64encode(1.5)) === wants('float64'),
    'objects are refused': () => thrown(() => b64encode({})) === wants('map[string]interface {}'),
    'nothing is refused': () => thrown(() => b64encode()) === wants('<nil>'),
    'bytes come back': () => bytes(b64decode('aGVsbG8=')) === '104,101,108,108,111',
    'an ArrayBuffer comes back': () => b64decode('aGVsbG8=') instanceof ArrayBuffer,
    'text where asked for': () => b64decode('aGVsbG8=', 'std', 's') === 'hello',
    'line breaks are let pass': () => b64decode('aGVs\r\nbG8=', 'std', 's') === 'hello',
    'nothing is nothing': () => b64decode().byteLength === 0 && b64decode(null).byteLength === 0,
    'numbers are text': () => bytes(b64decode(1234)) === '215,109,248',
    'what is wrong is said': () => thrown(() => b64decode('aGV*')) === 'GoError: illegal base64 data at input byte 3',
    'both are in the default export': () => encoding.b64encode('hello') === 'aGVsbG8=' && encoding.b64decode('').byteLength === 0,
  });
}

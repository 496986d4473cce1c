// row: encoding.b64decode
import encoding from 'k6/encoding';
export default function () {
  const bytes = encoding.b64decode('aGVsbG8/Pn4=');
  console.log(bytes instanceof ArrayBuffer, bytes.byteLength);
  console.log(encoding.b64decode('aGVsbG8=', 'std', 's'), encoding.b64decode('aGVsbG8', 'rawstd', 's'), encoding.b64decode('_-8=', 'url').byteLength, encoding.b64decode('_-8', 'rawurl').byteLength);
  for (const [text, kind] of [['%%%', 'std'], ['aGVsbG8', 'std'], ['aGVsbG8=', 'rawstd']]) {
    try { console.log(encoding.b64decode(text, kind, 's')); } catch (e) { console.log('refused', text); }
  }
}

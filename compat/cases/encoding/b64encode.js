// row: encoding.b64encode
import encoding, { b64encode } from 'k6/encoding';
export default function () {
  for (const kind of [undefined, 'std', 'rawstd', 'url', 'rawurl']) console.log(kind, b64encode('hello?>~ž', kind), encoding.b64encode('ab', kind));
  console.log(b64encode(new Uint8Array([251, 255, 0]).buffer), b64encode(''), b64encode(new Uint8Array([1, 2])));
}

// row: x509.getAltNames, x509.getIssuer, x509.getSubject
import x509 from 'k6/crypto/x509';

const pem = open('certificates/rsa.pem');
const bytes = open('certificates/rsa.pem', 'b');
const other = open('certificates/ed25519.pem');

export default function () {
  console.log(JSON.stringify(x509.getAltNames(pem)));
  console.log(JSON.stringify(x509.getIssuer(pem)));
  console.log(JSON.stringify(x509.getSubject(pem)));
  console.log('a comment before', x509.getSubject(`# shop\n${pem}`).commonName);
  console.log('bytes', x509.getSubject(bytes).commonName, x509.getSubject(new Uint8Array(bytes)).commonName);
  console.log('no names', JSON.stringify(x509.getAltNames(other)), x509.getIssuer(other).names.length);
  const names = x509.getAltNames(pem);
  console.log(Array.isArray(names), names.includes('shop.test'), names.map((name) => name.length).join());
}
